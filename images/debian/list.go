package debian

import (
	"fmt"
	"regexp"
	"strings"
)

// List writes packages one a line, as Parse reads them.
func List(packages []Package) string {
	var text strings.Builder
	for _, p := range packages {
		text.WriteString(p.String() + "\n")
	}
	return text.String()
}

var listed = regexp.MustCompile(`^([a-z0-9][a-z0-9.+-]+)=([A-Za-z0-9.+~:-]+) ([a-z0-9-]+) (SHA256:[0-9a-f]{64})$`)

// Parse reads what List wrote. Empty lines and those that begin with # are skipped.
func Parse(text string) ([]Package, error) {
	var packages []Package
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := listed.FindStringSubmatch(line)
		if parts == nil {
			return nil, fmt.Errorf("%q is no package with its version, architecture and digest", line)
		}
		packages = append(packages, Package{Name: parts[1], Version: parts[2], Architecture: parts[3], Digest: parts[4]})
	}
	return packages, nil
}
