// Command manifests writes all manifests of config/default, or of another directory of config, to one file.
//
//	go run ./hack/manifests -version v1.2.3 -output bin/install.yaml
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/storagebench/storagebench/config/render"
)

func main() {
	version := flag.String("version", "", "image tag; if empty, the tags in the files are kept")
	output := flag.String("output", "bin/install.yaml", "file to write")
	config := flag.String("config", "config", "the directory of manifests")
	folder := flag.String("folder", render.Default, "subdirectory of -config to install: default, metrics, monitoring or namespaced")
	flag.Parse()
	if err := write(*config, *folder, *version, *output); err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "error: %v\n", err)
		os.Exit(1)
	}
}

func write(config, folder, version, output string) error {
	manifests, err := render.Folder(os.DirFS(config), folder, version)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(output), 0o755); err != nil {
		return fmt.Errorf("make a directory for the manifests: %w", err)
	}
	if err := os.WriteFile(output, manifests, 0o644); err != nil {
		return fmt.Errorf("write the manifests: %w", err)
	}
	return nil
}
