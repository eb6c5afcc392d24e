// Command push uploads the container images to a registry, without a daemon. It prints their names with digests, values
// for Helm, and an overlay for kustomize:
//
//	go run ./hack/push -registry registry.example/storagebench -version VERSION
//	go run ./hack/push -registry registry.example/storagebench -release bin/release
//
// The first form builds the images for this machine's architecture from bin, as images/build does; the second uses
// the images that `make release` built. Push uses the credentials of `docker login` or `podman login`.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/storagebench/storagebench/config/render"
	"github.com/storagebench/storagebench/hack/command"
	"github.com/storagebench/storagebench/images/compose"
	"github.com/storagebench/storagebench/images/image"
	"github.com/storagebench/storagebench/internal/version"
)

func main() {
	command.Main(func(ctx context.Context) error { return run(ctx, os.Args[1:], os.Stdout, os.Stderr) })
}

// options holds the images to push and the registry.
type options struct {
	registry, release, ior, values string
	build                          compose.Options
}

func run(ctx context.Context, arguments []string, output, progress io.Writer) error {
	o := options{build: compose.Options{Progress: progress}}
	flags := flag.NewFlagSet("push", flag.ContinueOnError)
	flags.StringVar(&o.registry, "registry", "", "`registry` with a path, such as registry.example/storagebench")
	flags.StringVar(&o.release, "release", "", "push the images that `make release` wrote to this `directory`")
	flags.StringVar(&o.ior, "ior", "", "`directory` with ARCH/ior and ARCH/mdtest, built with Debian's mpicc, for the IOR image")
	flags.StringVar(&o.values, "values", "bin/images/values.yaml", "`file` to write the values for Helm to")
	flags.StringVar(&o.build.Version, "version", version.Version, "version of storagebench, used as the tag of the images")
	flags.StringVar(&o.build.Programs, "programs", "bin", "`directory` with the programs built by make build")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q: use flags", flags.Arg(0))
	case o.registry == "":
		return errors.New("-registry is empty: specify a registry that you can push to, as in `make push REGISTRY=registry.example/storagebench`")
	case strings.HasPrefix(o.registry+"/", version.Registry+"/"):
		return fmt.Errorf("-registry is %q, which never resolves: specify a registry that you can push to", o.registry)
	}
	images, err := o.push(ctx)
	if err != nil {
		return err
	}
	err = image.Replace(o.values, func(w io.Writer) error {
		_, err := io.WriteString(w, values(images))
		return err
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(output, "%s\nFor Helm, --values %s:\n\n%s\nFor kustomize, an overlay beside this repository:\n\n%s",
		list(images), o.values, values(images), overlay(images))
	return err
}

// push uploads each image and returns the image names with their digests.
func (o options) push(ctx context.Context) (render.Images, error) {
	sources, err := o.sources()
	if err != nil {
		return render.Images{}, err
	}
	var pushed render.Images
	for _, source := range sources {
		folder, err := os.MkdirTemp("", "push-")
		if err != nil {
			return render.Images{}, fmt.Errorf("make a directory for an image: %w", err)
		}
		defer os.RemoveAll(folder) //nolint:errcheck // nothing depends on it
		index, tag, err := source.open(ctx, folder)
		if err != nil {
			return render.Images{}, err
		}
		_, _ = fmt.Fprintf(o.build.Progress, "Pushing %s/%s:%s\n", o.registry, source.name, tag)
		if *pushed.Of(source.name), err = image.Push(ctx, o.registry, source.name, tag, index); err != nil {
			return render.Images{}, err
		}
	}
	return pushed, nil
}

// source is an image to push. open returns the image's index and tag. It may unpack the image into the given directory.
type source struct {
	name string
	open func(ctx context.Context, folder string) (v1.ImageIndex, string, error)
}

func (o options) sources() ([]source, error) {
	if o.release != "" {
		return ofRelease(o.release)
	}
	names := []string{"operator", "fio"}
	if o.ior != "" {
		names = append(names, "ior")
		o.build.IOR, o.build.Mdtest = filepath.Join(o.ior, runtime.GOARCH, "ior"), filepath.Join(o.ior, runtime.GOARCH, "mdtest")
	}
	var all []source
	for _, name := range names {
		all = append(all, source{name, func(ctx context.Context, _ string) (v1.ImageIndex, string, error) {
			made, err := compose.Image(ctx, name, o.build)
			if err != nil {
				return nil, "", err
			}
			index, err := image.Index(made)
			return index, version.Tag(o.build.Version), err
		}})
	}
	return all, nil
}

// ofRelease finds the images in a directory that `make release` wrote.
func ofRelease(folder string) ([]source, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.oci.tar"))
	if err != nil {
		return nil, fmt.Errorf("list the images of the release: %w", err)
	}
	var all []source
	for _, file := range files {
		name, _, _ := strings.Cut(filepath.Base(file), "_")
		all = append(all, source{name, func(_ context.Context, folder string) (v1.ImageIndex, string, error) {
			return image.ReadIndex(file, folder)
		}})
	}
	for _, needed := range []string{"operator", "fio"} {
		if !slices.ContainsFunc(all, func(s source) bool { return s.name == needed }) {
			return nil, fmt.Errorf("-release %s has no image %s_VERSION.oci.tar: run `make release VERSION=...` first",
				folder, needed)
		}
	}
	return all, nil
}

func list(images render.Images) string {
	var text strings.Builder
	for _, name := range render.ImageNames {
		if reference := *images.Of(name); reference != "" {
			text.WriteString(reference + "\n")
		}
	}
	return text.String()
}

// values returns Helm values that make the chart use the images.
func values(images render.Images) string {
	text := "image:\n"
	for _, name := range render.ImageNames {
		if reference := *images.Of(name); reference != "" {
			text += fmt.Sprintf("  %s: {reference: %q}\n", name, reference)
		}
	}
	return text
}

// overlay returns a kustomization that makes config/default use the images.
func overlay(images render.Images) string {
	var text strings.Builder
	text.WriteString("resources: [storagebench/config/default]\npatches:\n- patch: |\n")
	for line := range strings.Lines(images.Patch()) {
		text.WriteString("    " + line)
	}
	return text.String()
}
