package binaries

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// outputName returns the file name that the go command gives to the program.
func (p program) outputName() string {
	if p.mainPackage == "." {
		return path.Base(p.module.folder)
	}
	name := path.Base(p.mainPackage)
	if majorVersion.MatchString(name) {
		name = path.Base(path.Dir(p.mainPackage))
	}
	return name
}

// fileName returns the name of a program in the cache. It consists of the program's name and version, a digest of the
// sources if they are in hack, the Go version and the platform.
func (b builder) fileName(p program) (string, error) {
	parts := []string{p.name, p.version}
	if strings.HasPrefix(p.mainPackage, ".") {
		digest, err := digest(filepath.Join(b.root, "hack", filepath.FromSlash(p.module.folder)), p.mainPackage)
		if err != nil {
			return "", fmt.Errorf("reading the sources of %s: %w", p.name, err)
		}
		parts = append(parts, digest)
	}
	parts = append(parts, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return strings.Join(parts, "-"), nil
}

// digest returns a digest of a program's sources: the Go files of its folder, and go.mod, which pins all dependencies.
func digest(module, folder string) (string, error) {
	files, err := filepath.Glob(filepath.Join(module, folder, "*.go"))
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, file := range append(files, filepath.Join(module, "go.mod")) {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(sum, "%s %d\n%s", filepath.Base(file), len(data), data)
	}
	return hex.EncodeToString(sum.Sum(nil)[:4]), nil
}
