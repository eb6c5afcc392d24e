package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/storagebench/storagebench/hack/release/compatible"
)

// The directories that contain the current CRDs and the CRDs of the last release.
const (
	kindsNow      = "config/crd/bases"
	kindsReleased = "config/crd/released"
)

// compatible returns an error if the CRDs are not compatible with the last release.
func (r release) compatible() error {
	report, err := compatible.Folders(kindsReleased, kindsNow)
	if err != nil {
		return err
	}
	for _, rule := range report.Rules {
		_, _ = fmt.Fprintf(os.Stderr, "Validation rule added since %s; check whether it refuses input that was accepted before: %s\n", report.Released, rule)
	}
	var problems []error
	for _, broken := range report.Breaks {
		problems = append(problems, errors.New(broken.String()))
	}
	if len(problems) > 0 {
		return fmt.Errorf("the CRDs are not compatible with those of %s (see docs/api-versions.md):\n%w", report.Released, errors.Join(problems...))
	}
	return nil
}

// renew stores the CRDs of this version as the baseline for compatibility checks of later versions. It skips
// prereleases, such as v1.2.3-rc.1, which promise no compatibility.
func (r release) renew() error {
	if strings.Contains(r.version, "-") {
		return nil
	}
	files, err := filepath.Glob(filepath.Join(kindsNow, "*.yaml"))
	if err != nil {
		return fmt.Errorf("list the CRDs: %w", err)
	}
	if err := errors.Join(os.RemoveAll(kindsReleased), os.MkdirAll(kindsReleased, 0o755)); err != nil {
		return fmt.Errorf("empty the directory of released CRDs: %w", err)
	}
	var sums strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read a CRD: %w", err)
		}
		if err := os.WriteFile(filepath.Join(kindsReleased, filepath.Base(file)), text, 0o644); err != nil {
			return fmt.Errorf("write a released CRD: %w", err)
		}
		sum, err := sumOf(file)
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%s  %s\n", sum, filepath.Base(file))
	}
	err = errors.Join(os.WriteFile(filepath.Join(kindsReleased, compatible.SumsFile), []byte(sums.String()), 0o644),
		os.WriteFile(filepath.Join(kindsReleased, compatible.VersionFile), []byte(r.version+"\n"), 0o644))
	if err != nil {
		return fmt.Errorf("record the released version: %w", err)
	}
	fmt.Printf("Commit %s, because later versions must be compatible with these CRDs.\n", kindsReleased)
	return nil
}
