package debian

import (
	"fmt"
	"regexp"
	"strings"
)

// List formats packages one per line, for Parse.
func List(packages []Package) string {
	var text strings.Builder
	for _, p := range packages {
		text.WriteString(p.String() + "\n")
	}
	return text.String()
}

var listed = regexp.MustCompile(`^([a-z0-9][a-z0-9.+-]+)=([A-Za-z0-9.+~:-]+) ([a-z0-9-]+) (SHA256:[0-9a-f]{64})$`)

// Parse parses the output of List. It skips empty lines and lines that begin with #.
func Parse(text string) ([]Package, error) {
	var packages []Package
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := listed.FindStringSubmatch(line)
		if parts == nil {
			return nil, fmt.Errorf("%q is not in the format PACKAGE=VERSION ARCHITECTURE SHA256:DIGEST", line)
		}
		packages = append(packages, Package{Name: parts[1], Version: parts[2], Architecture: parts[3], Digest: parts[4]})
	}
	return packages, nil
}
