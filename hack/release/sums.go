package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// sums writes the checksum of every file in the format of `sha256sum --check`, and prints the checksums with a
// summary.
func (r release) sums(ctx context.Context) error {
	files, err := filepath.Glob(r.file("*"))
	if err != nil {
		return fmt.Errorf("list the files of the release: %w", err)
	}
	slices.Sort(files)
	var text strings.Builder
	for _, file := range files {
		sum, err := sumOf(file)
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%s  %s\n", sum, filepath.Base(file))
	}
	if err := os.WriteFile(r.file("SHA256SUMS"), []byte(text.String()), 0o644); err != nil {
		return fmt.Errorf("write the checksums: %w", err)
	}
	compiler, err := goVersion(ctx)
	if err != nil {
		return err
	}
	fmt.Print(text.String())
	fmt.Printf("Wrote %d files of version %s to %s, built with %s\n", len(files)+1, r.version, r.output, compiler)
	return nil
}
