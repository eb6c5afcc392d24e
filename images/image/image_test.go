package image_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/storagebench/storagebench/images/image"
	"github.com/storagebench/storagebench/images/image/imagetest"
)

var epoch = time.Unix(0, 0).UTC()

// small returns the layer of a tree to which files were added in the given order.
func small(t *testing.T, names ...string) []byte {
	t.Helper()
	tree := &image.Tree{}
	for _, name := range names {
		if err := tree.File(name, 0o644, []byte("of "+name)); err != nil {
			t.Fatal(err)
		}
	}
	layer, err := tree.Tar(epoch)
	if err != nil {
		t.Fatal(err)
	}
	return layer
}

func TestImageSaysWhatItIs(t *testing.T) {
	made := image.Image{Name: "operator", Version: "v1.2.3", Title: "a title", Licenses: "Apache-2.0",
		Entrypoint: []string{"/program"}, Path: "/usr/bin", Labels: map[string]string{"more": "yes"},
		Layer: small(t, "program"), Created: epoch}
	opened := imagetest.Open(t, made)
	config := opened.Config.Config
	want := map[string]string{
		"org.opencontainers.image.title":         "a title",
		"org.opencontainers.image.version":       "v1.2.3",
		"org.opencontainers.image.documentation": "https://github.com/storagebench/storagebench/blob/main/README.md",
		"org.opencontainers.image.licenses":      "Apache-2.0",
		"org.opencontainers.image.source":        image.Source,
		"more":                                   "yes",
	}
	if diff := cmp.Diff(want, config.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if config.User != "65532:65532" {
		t.Errorf("user %q", config.User)
	}
	if diff := cmp.Diff([]string{"/program"}, config.Entrypoint); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"PATH=/usr/bin"}, config.Env); diff != "" {
		t.Error(diff)
	}
	if made.Reference() != "storagebench.invalid/operator:v1.2.3" {
		t.Errorf("reference %q", made.Reference())
	}
	opened.CheckFiles(t)
}

func TestEqualFilesMakeEqualImages(t *testing.T) {
	id := func(layer []byte) string {
		return imagetest.Open(t, image.Image{Name: "x", Version: "v1", Layer: layer, Created: epoch}).ID
	}
	first, second := small(t, "a/x", "a/y", "a-b", "b"), small(t, "b", "a-b", "a/y", "a/x")
	if id(first) != id(second) {
		t.Error("the order in which files are added makes another image")
	}
	if id(first) == id(small(t, "a/x", "a/y", "a-b")) {
		t.Error("other files make the same image")
	}
}

func TestTreeRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		path string
		mode fs.FileMode
		want string
	}{
		"a leading slash":       {"/etc/passwd", 0o644, "not a valid path in an image"},
		"a way out":             {"../etc/passwd", 0o644, "not a valid path in an image"},
		"setuid":                {"bin/su", 0o755 | fs.ModeSetuid, "setuid"},
		"setgid":                {"bin/write", 0o755 | fs.ModeSetgid, "setgid"},
		"two files at one path": {"there", 0o644, "already in the image"},
		"a file below a file":   {"there/below", 0o644, "there is not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			tree := &image.Tree{}
			if err := tree.File("there", 0o644, nil); err != nil {
				t.Fatal(err)
			}
			err := tree.File(test.path, test.mode, nil)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want it to say %q", err, test.want)
			}
		})
	}
}

func TestWriteRefusesWhatIsNoTag(t *testing.T) {
	file := filepath.Join(t.TempDir(), "image.tar")
	_, err := image.Image{Name: "x", Version: "a version", Layer: small(t, "a"), Created: epoch}.Write(file)
	if err == nil || !strings.Contains(err.Error(), `version "a version"`) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a file was written all the same")
	}
}

func TestReference(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3":                   "storagebench.invalid/fio:v1.2.3",
		"v1.2.4-0.2026-9a8e+dirty": "storagebench.invalid/fio:v1.2.4-0.2026-9a8e-dirty",
	} {
		if got := (image.Image{Name: "fio", Version: version}).Reference(); got != want {
			t.Errorf("version %s gives %s, want %s", version, got, want)
		}
	}
}

func TestTime(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "0": 0, "1700000000": 1700000000} {
		t.Setenv("SOURCE_DATE_EPOCH", text)
		got, err := image.Time()
		if err != nil || got.Unix() != want {
			t.Errorf("SOURCE_DATE_EPOCH=%q gives %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"yesterday", "-1", "1.5"} {
		t.Setenv("SOURCE_DATE_EPOCH", text)
		if _, err := image.Time(); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("SOURCE_DATE_EPOCH=%q gives the error %v", text, err)
		}
	}
}

func TestCached(t *testing.T) {
	cache := t.TempDir()
	made := 0
	get := func(inputs string) string {
		file, err := image.Cached(cache, "thing", inputs, func() ([]byte, error) {
			made++
			return []byte("of " + inputs), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for _, inputs := range []string{"one", "one", "two", "one"} {
		if got := get(inputs); got != "of "+inputs {
			t.Errorf("%s gives %q", inputs, got)
		}
	}
	if made != 2 {
		t.Errorf("made %d times, want 2", made)
	}
	for i, inputs := range []string{"three", "four"} {
		get(inputs)
		found, err := os.ReadDir(cache)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) != 2 {
			t.Errorf("after %d more the cache holds %d files, want 2", i+1, len(found))
		}
	}
}
