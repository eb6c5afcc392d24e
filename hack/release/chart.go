package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/storagebench/storagebench/config/render"
)

// chart packages the Helm chart. The chart and the images have the version of the release.
func (r *release) chart(ctx context.Context) error {
	tool := exec.CommandContext(ctx, "hack/tool", "helm")
	tool.Stderr = os.Stderr
	helm, err := tool.Output()
	if err != nil {
		return fmt.Errorf("find helm: %w", err)
	}
	folder, err := os.MkdirTemp("", "chart-")
	if err != nil {
		return fmt.Errorf("make a directory for the chart: %w", err)
	}
	defer os.RemoveAll(folder) //nolint:errcheck // nothing depends on it
	version := strings.TrimPrefix(r.version, "v")
	command := exec.CommandContext(ctx, strings.TrimSpace(string(helm)), "package", "charts/storagebench",
		"--version", version, "--app-version", r.version, "--destination", folder)
	command.Env = append(os.Environ(), "HELM_CACHE_HOME="+folder, "HELM_CONFIG_HOME="+folder, "HELM_DATA_HOME="+folder)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("package the chart: %w\n%s", err, out)
	}
	name := "storagebench-" + version + ".tgz"
	files, err := unpack(filepath.Join(folder, name))
	if err != nil {
		return err
	}
	if r.registry != "" {
		values := "storagebench/values.yaml"
		if files[values], err = r.publishedValues(files[values]); err != nil {
			return err
		}
	}
	// Pack the chart's files again, because helm's archive contains their modification times, which differ between
	// machines.
	return pack(r.file(name), files, nil)
}

// publishedValues returns the chart's values with the registry and the digests of the release's images. It changes only
// the lines of these values, to preserve comments.
func (r *release) publishedValues(values []byte) ([]byte, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(values, &document); err != nil {
		return nil, fmt.Errorf("read the chart's values: %w", err)
	}
	images, lines := field(document.Content[0], "image"), strings.Split(string(values), "\n")
	put := func(node *yaml.Node, what, value string) error {
		if node.Line == 0 || !strings.HasSuffix(lines[node.Line-1], `: ""`) {
			return fmt.Errorf("charts/storagebench/values.yaml has no line for %s that ends with \"\"", what)
		}
		lines[node.Line-1] = strings.TrimSuffix(lines[node.Line-1], `""`) + strconv.Quote(value)
		return nil
	}
	if err := put(field(images, "registry"), "image.registry", r.registry); err != nil {
		return nil, err
	}
	for _, name := range render.ImageNames {
		if _, digest, found := strings.Cut(*r.published.Of(name), "@"); found {
			if err := put(field(field(images, name), "digest"), "image."+name+".digest", digest); err != nil {
				return nil, err
			}
		}
	}
	return []byte(strings.Join(lines, "\n")), nil
}

// unpack returns the files of a compressed tar archive by name.
func unpack(name string) (map[string][]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read an archive: %w", err)
	}
	defer file.Close() //nolint:errcheck // it is only read
	uncompressed, err := gzip.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	archive := tar.NewReader(uncompressed)
	files := map[string][]byte{}
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		if files[header.Name], err = io.ReadAll(archive); err != nil {
			return nil, fmt.Errorf("read %s of %s: %w", header.Name, name, err)
		}
	}
}

// manifests writes what `kubectl apply -k config/default` would install, with the images of the release.
func (r *release) manifests(context.Context) error {
	config := os.DirFS("config")
	text, err := render.Folder(config, render.Default, r.version)
	if r.registry != "" && err == nil {
		text, err = render.Pinned(config, render.Default, r.published)
	}
	if err != nil {
		return err
	}
	if err := os.WriteFile(r.file("install.yaml"), text, 0o644); err != nil {
		return fmt.Errorf("write the manifests: %w", err)
	}
	return nil
}
