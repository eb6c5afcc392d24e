package packaged

import (
	"io/fs"
	"maps"
	"slices"
	"testing"

	"github.com/storagebench/storagebench/images/debian"
)

// TestPackageOfALicenceIsUsed checks that a package counts as used even if the image contains only its copyright file.
// In Debian, the documentation of libgcc-s1 is a link to that of gcc-12-base.
func TestPackageOfALicenceIsUsed(t *testing.T) {
	root := debian.Root{
		"usr/lib/libgcc_s.so.1":               {Package: "libgcc-s1", Mode: 0o644},
		"usr/share/doc/libgcc-s1":             {Package: "libgcc-s1", Mode: fs.ModeSymlink, Target: "gcc-12-base"},
		"usr/share/doc/gcc-12-base/copyright": {Package: "gcc-12-base", Mode: 0o644},
		"usr/share/doc/other/copyright":       {Package: "other", Mode: 0o644},
	}
	recipe := Recipe{Data: func(name string) bool { return name == "usr/lib/libgcc_s.so.1" }}
	tree, used, err := recipe.compose(root)
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(used)); !slices.Equal(got, []string{"gcc-12-base", "libgcc-s1"}) {
		t.Errorf("packages %v are used", got)
	}
	for name, want := range map[string]bool{
		"usr/share/doc/libgcc-s1": true, "usr/share/doc/gcc-12-base/copyright": true, "usr/share/doc/other/copyright": false,
	} {
		if tree.Has(name) != want {
			t.Errorf("%s is in the image: %t", name, !want)
		}
	}
}
