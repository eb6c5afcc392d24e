package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// sampleOf returns the number of files in a sample and all its records, concatenated.
func sampleOf(t *testing.T, root, name string) (files int, all []byte) {
	t.Helper()
	files, err := Sample(t.Context(), root, name, func(record []byte) { all = append(all, record...) })
	must(t, err)
	return files, all
}

func TestSample(t *testing.T) {
	root := t.TempDir()
	for i := range 300 {
		must(t, os.MkdirAll(filepath.Join(root, "own", fmt.Sprint(i%7)), 0o755))
		mustWrite(t, filepath.Join(root, "own", fmt.Sprint(i%7), fmt.Sprintf("%03d.txt", i)), fmt.Sprintf("%0200d", i))
	}
	must(t, os.WriteFile(filepath.Join(root, "own", "large"), bytes.Repeat([]byte("0123456789abcdef"), 2<<20), 0o600))
	must(t, os.MkdirAll(filepath.Join(root, "own", ".storagebench"), 0o755))
	mustWrite(t, filepath.Join(root, "own", ".storagebench", "ours"), "written by a run")
	mustWrite(t, filepath.Join(root, "secret"), "outside of what was named")
	must(t, os.Symlink("../secret", filepath.Join(root, "own", "link")))
	must(t, os.Symlink("own", filepath.Join(root, "alias")))
	before := sumsOf(t, root)

	files, all := sampleOf(t, root, "own")
	if files != 128 || bytes.Contains(all, []byte("secret")) || bytes.Contains(all, []byte("outside")) || bytes.Contains(all, []byte("run")) {
		t.Errorf("%d files, %d bytes", files, len(all))
	}
	if _, again := sampleOf(t, root, "own"); !bytes.Equal(all, again) {
		t.Error("a second sample is another one")
	}
	if files, all := sampleOf(t, root, "own/large"); files != 1 || len(all) != 16<<20 {
		t.Errorf("of a file of 32 MiB %d bytes are read, in %d files; want half of it", len(all), files)
	}
	if files, all := sampleOf(t, root, "own/0/000.txt"); files != 1 || len(all) != 200 {
		t.Errorf("of a small file %d bytes are read, in %d files", len(all), files)
	}
	for _, name := range []string{"alias", "alias/0", "own/link", "../secret", "/etc", "own/../../etc"} {
		if _, err := Sample(t.Context(), root, name, func([]byte) { t.Errorf("%s: something was read", name) }); err == nil {
			t.Errorf("%s is looked at", name)
		}
	}
	if _, err := Sample(t.Context(), root, "own/none", func([]byte) {}); !errors.Is(err, ErrMissing) {
		t.Errorf("a missing file: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Sample(ended, root, "own", func([]byte) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("without time: %v", err)
	}
	if after := sumsOf(t, root); after != before {
		t.Errorf("the sampled files have changed:\n%s\n%s", before, after)
	}
}

// sumsOf returns the names, sizes, modes and modification times of all files below a directory.
func sumsOf(t *testing.T, root string) string {
	t.Helper()
	var all bytes.Buffer
	must(t, filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(&all, path, info.Size(), info.Mode(), info.ModTime())
		return err
	}))
	return all.String()
}
