package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/storagebench/storagebench/images/compose"
	"github.com/storagebench/storagebench/images/image"
	"github.com/storagebench/storagebench/images/sbom"
)

// images builds each image for all architectures, combines the architectures under one name, and writes a bill of
// materials for each architecture. It also writes images.txt, which lists the image names with their digests.
func (r *release) images(ctx context.Context) error {
	names := []string{"operator", "fio"}
	if r.ior != "" {
		names = append(names, "ior")
	}
	var digests strings.Builder
	for _, name := range names {
		var all []image.Image
		for _, p := range r.platforms {
			if p.os != "linux" {
				continue
			}
			made, err := r.image(ctx, name, p)
			if err != nil {
				return err
			}
			all = append(all, made)
		}
		if len(all) == 0 {
			return nil
		}
		digest, err := image.WriteIndex(r.file(name+"_"+r.version+".oci.tar"), all...)
		if err != nil {
			return err
		}
		reference := all[0].Reference() + "@" + digest
		*r.published.Of(name) = reference
		digests.WriteString(reference + "\n")
	}
	if err := os.WriteFile(r.file("images.txt"), []byte(digests.String()), 0o644); err != nil {
		return fmt.Errorf("write the digests of the images: %w", err)
	}
	return nil
}

// image builds one image for one architecture, and writes its bill of materials.
func (r release) image(ctx context.Context, name string, p platform) (image.Image, error) {
	o := compose.Options{Version: r.version, Architecture: p.arch, Locked: r.locked, Programs: filepath.Join(r.programs, p.os, p.arch), Progress: os.Stderr}
	var own []string
	switch name {
	case "operator":
		for _, program := range []string{"operator", "agent"} {
			if _, err := r.program(ctx, p, program); err != nil {
				return image.Image{}, err
			}
		}
	case "ior":
		o.IOR, o.Mdtest = filepath.Join(r.ior, p.arch, "ior"), filepath.Join(r.ior, p.arch, "mdtest")
		own = []string{"usr/bin/ior", "usr/bin/mdtest"}
	}
	made, err := compose.Image(ctx, name, o)
	if err != nil {
		return image.Image{}, err
	}
	made.Registry = r.registry
	built, err := made.OCI()
	if err != nil {
		return image.Image{}, err
	}
	digest, err := built.Digest()
	if err != nil {
		return image.Image{}, fmt.Errorf("compute the digest of image %s: %w", name, err)
	}
	content, err := sbom.Layer(made.Layer, own...)
	if err != nil {
		return image.Image{}, err
	}
	return made, r.bill(name+"_"+r.version+"_"+p.os+"_"+p.arch, sbom.Subject{
		Name: made.Repository(), Image: true, SHA256: digest.Hex,
		PackageURL: fmt.Sprintf("pkg:oci/%s@%s?arch=%s&repository_url=%s&tag=%s", name, strings.Replace(digest.String(), ":", "%3A", 1),
			p.arch, made.Repository(), r.version),
	}, content)
}
