// Command monitoring writes the generated files of config/monitoring and docs/reference/metrics.md. Run it in the root
// of the repository.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/storagebench/storagebench/config/monitoring/build"
	"github.com/storagebench/storagebench/internal/metrics"
)

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write() error {
	files, err := build.Files()
	if err != nil {
		return err
	}
	all := map[string][]byte{filepath.Join("docs", "reference", "metrics.md"): metrics.Reference()}
	for name, text := range files {
		all[filepath.Join("config", "monitoring", filepath.FromSlash(name))] = text
	}
	for name, text := range all {
		if err := os.WriteFile(name, text, 0o644); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}
