package compatible

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// VersionFile and SumsFile are files in the directory of the released CRDs. VersionFile contains the version of the
// release. SumsFile contains the checksums of the CRDs, which must not change after the release.
const (
	VersionFile = "VERSION"
	SumsFile    = "SHA256SUMS"
)

// Report is the result of comparing two directories.
type Report struct {
	// Released is the version of the last release, or "" if nothing has been released yet.
	Released string
	Breaks   []Break
	// Rules lists the new CEL rules.
	Rules []string
}

// Folders compares the CRDs of the last release with the current ones.
func Folders(released, now string) (Report, error) {
	version, err := os.ReadFile(filepath.Join(released, VersionFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Report{}, nil
	}
	if err != nil {
		return Report{}, fmt.Errorf("read the released version: %w", err)
	}
	report := Report{Released: strings.TrimSpace(string(version))}
	old, err := Read(released)
	if err != nil {
		return Report{}, err
	}
	next, err := Read(now)
	if err != nil {
		return Report{}, err
	}
	for name, was := range old {
		is := next[name]
		if is == nil {
			report.Breaks = append(report.Breaks, Break{Path: name, What: "the kind was removed"})
			continue
		}
		report.Breaks = append(report.Breaks, CRD(was, is)...)
		report.Rules = append(report.Rules, Rules(was, is)...)
	}
	return report, nil
}

// Read returns the CRDs in a directory by name. It fails if there are none.
func Read(folder string) (map[string]*apiextensionsv1.CustomResourceDefinition, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no CRDs in %s: %w", folder, errors.Join(err, fs.ErrNotExist))
	}
	found := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read a kind: %w", err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, crd); err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		found[crd.Name] = crd
	}
	return found, nil
}
