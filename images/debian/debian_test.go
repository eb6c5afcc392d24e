package debian

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseURIs(t *testing.T) {
	a, b, c := strings.Repeat("0a", 32), strings.Repeat("ff", 32), strings.Repeat("9b", 32)
	got, err := parseURIs(`Reading package lists...
Building dependency tree...
The following NEW packages will be installed:
  fio zlib1g
'http://mirror.example/debian/pool/main/z/zlib/zlib1g_1.2.13.dfsg-1_amd64.deb' zlib1g_1%3a1.2.13.dfsg-1_amd64.deb 86676 SHA256:` + a + `
'http://mirror.example/debian/pool/main/f/fio/fio_3.33-3_amd64.deb' fio_3.33-3_amd64.deb 605440 SHA256:` + b + `
'file:/srv/pool/libstdc%2b%2b6_12.2.0-14_amd64.deb' libstdc++6_12.2.0-14_amd64.deb 613036 SHA256:` + c + `
`)
	if err != nil {
		t.Fatal(err)
	}
	want := []Package{
		{Name: "fio", Version: "3.33-3", Architecture: "amd64", Digest: "SHA256:" + b},
		{Name: "libstdc++6", Version: "12.2.0-14", Architecture: "amd64", Digest: "SHA256:" + c},
		{Name: "zlib1g", Version: "1:1.2.13.dfsg-1", Architecture: "amd64", Digest: "SHA256:" + a},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestParseURIsMissesNone checks that an unknown line is an error: a skipped package would mean a missing library.
func TestParseURIsMissesNone(t *testing.T) {
	for _, line := range []string{
		"'http://mirror.example/x_1_amd64.deb' x_1_amd64.deb 10 \n",
		"'http://mirror.example/x_1_amd64.deb' x_1_amd64.deb 10 MD5Sum:00\n",
	} {
		if got, err := parseURIs(line); err == nil || !strings.Contains(err.Error(), line) {
			t.Errorf("%q gives %v, %v", line, got, err)
		}
	}
}

func TestPlace(t *testing.T) {
	for name, want := range map[string]string{
		"./lib/x86_64-linux-gnu/libc.so.6": "usr/lib/x86_64-linux-gnu/libc.so.6",
		"./usr/lib/libx.so":                "usr/lib/libx.so",
		"/lib64/ld-linux-x86-64.so.2":      "usr/lib64/ld-linux-x86-64.so.2",
		"./../../etc/shadow":               "etc/shadow",
		"./library":                        "library",
	} {
		if got := place(name); got != want {
			t.Errorf("%s is placed at %s, want %s", name, got, want)
		}
	}
}

func link(target string) File { return File{Mode: fs.ModeSymlink | 0o777, Target: target} }

func TestFollow(t *testing.T) {
	root := Root{
		"usr/lib/libx.so.1":   link("libx.so.1.0"),
		"usr/lib/libx.so.1.0": {Data: []byte("x")},
		"usr/lib64/ld.so":     link("/lib/libx.so.1"),
		"usr/lib/loop":        link("loop"),
		"usr/lib/dangling":    link("nothing"),
	}
	got, err := root.Follow("usr/lib64/ld.so")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"usr/lib64/ld.so", "usr/lib/libx.so.1", "usr/lib/libx.so.1.0"}, got); diff != "" {
		t.Error(diff)
	}
	for name, want := range map[string]string{"usr/lib/loop": "loop of symbolic links", "usr/lib/dangling": "usr/lib/nothing was not found in any of the packages"} {
		if _, err := root.Follow(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want it to say %q", name, err, want)
		}
	}
}

// TestClosureNamesWhatIsMissing checks that a missing library is an error: otherwise the image would fail only when it
// is used.
func TestClosureNamesWhatIsMissing(t *testing.T) {
	program, err := os.ReadFile("/usr/bin/fio")
	if err != nil {
		t.Fatalf("this test needs fio (hack/ensure-packages fio): %v", err)
	}
	root := Root{"usr/bin/fio": {Package: "fio", Data: program}}
	_, err = root.Closure("usr/bin/fio")
	if err == nil || !strings.Contains(err.Error(), "usr/bin/fio of package fio needs lib") {
		t.Errorf("got %v", err)
	}
}
