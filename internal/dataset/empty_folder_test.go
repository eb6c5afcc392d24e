package dataset

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestEmptyFolder(t *testing.T) {
	t.Parallel()
	data := mustCreate(t, t.TempDir(), 0)
	path := filepath.Join(data.Path(), "small.0")
	for range 2 { // first creates the directory, then empties it
		if err := data.EmptyFolder(t.Context(), "small.0"); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(path)
		if err != nil || len(entries) > 0 {
			t.Fatalf("it holds %v: %v", entries, err)
		}
		if err := os.Mkdir(filepath.Join(path, "below"), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"1", "below/2"} {
			if err := os.WriteFile(filepath.Join(path, name), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	outside := filepath.Join(t.TempDir(), "kept")
	if err := os.MkdirAll(outside, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(outside), filepath.Join(data.Path(), "link")); err != nil {
		t.Fatal(err)
	}
	if err := data.EmptyFolder(t.Context(), "link"); !errors.Is(err, ErrSymlink) {
		t.Errorf("through a link: %v", err)
	}
	for _, name := range []string{"", ".", "..", "../client-1", "a/b", "/tmp"} {
		if err := data.EmptyFolder(t.Context(), name); !errors.Is(err, ErrBadName) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
}
