package lock

import (
	"slices"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/images/debian"
)

// TestLists checks that each list of packages can be read, is for its architecture, and has the packages that its image
// needs. It does not check whether Debian still serves them; a release does.
func TestLists(t *testing.T) {
	for image, wanted := range map[string][]string{"operator": {"ca-certificates"}, "fio": {"fio", "libc6"}, "ior": {"fio", "openmpi-bin", "libc6"}} {
		for _, architecture := range []string{"amd64", "arm64"} {
			packages, err := Of(image, architecture)
			if err != nil {
				t.Error(err)
				continue
			}
			for _, name := range wanted {
				if !slices.ContainsFunc(packages, func(p debian.Package) bool { return p.Name == name }) {
					t.Errorf("%s lacks %s", File(image, architecture), name)
				}
			}
			for _, p := range packages {
				if p.Architecture != architecture && p.Architecture != "all" || p.Version == "" || !strings.HasPrefix(p.Digest, "SHA256:") || len(p.Digest) != len("SHA256:")+64 {
					t.Errorf("%s: %s", File(image, architecture), p)
				}
			}
			text, err := files.ReadFile(File(image, architecture))
			if again := debian.List(packages); err != nil || again != string(text) {
				t.Errorf("%s is not as it would be written: %v", File(image, architecture), err)
			}
		}
	}
}

func TestNoList(t *testing.T) {
	if _, err := Of("fio", "riscv64"); err == nil || !strings.Contains(err.Error(), "image fio on riscv64") {
		t.Errorf("got %v", err)
	}
}
