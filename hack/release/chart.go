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
	"strings"

	"github.com/storagebench/storagebench/config/render"
)

// chart packages the Helm chart. Its version and that of the images are the release's.
func (r release) chart(ctx context.Context) error {
	tool := exec.CommandContext(ctx, "hack/tool", "helm")
	tool.Stderr = os.Stderr
	helm, err := tool.Output()
	if err != nil {
		return fmt.Errorf("find helm: %w", err)
	}
	folder, err := os.MkdirTemp("", "chart-")
	if err != nil {
		return fmt.Errorf("make a folder for the chart: %w", err)
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
	// helm writes the times of the files of this machine.
	return pack(r.file(name), files, nil)
}

// unpack reads the files of an archive.
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
func (r release) manifests(context.Context) error {
	text, err := render.Folder(os.DirFS("config"), render.Default, r.version)
	if err != nil {
		return err
	}
	if err := os.WriteFile(r.file("install.yaml"), text, 0o644); err != nil {
		return fmt.Errorf("write the manifests: %w", err)
	}
	return nil
}
