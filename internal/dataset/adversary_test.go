package dataset

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// adversary is another process of the same user: until the test ends, it keeps replacing the levels of a client's
// directory with links to a directory of foreign files, and creates links to those files under our file names. It does
// not follow its own links: they are absolute, so os.Root refuses them.
func adversary(t *testing.T, path, precious string) {
	t.Helper()
	root, err := os.OpenRoot(path)
	must(t, err)
	stop := make(chan struct{})
	var all sync.WaitGroup
	own := client(0).Path()
	hash := filepath.Dir(own)
	for _, level := range []string{own, hash} {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(time.Duration(rand.IntN(3000)) * time.Microsecond):
				}
				// A failed operation has only lost the race.
				if root.Rename(level, level+"-stolen") == nil {
					_ = root.Symlink(filepath.Join(path, precious), level)
					_ = root.Remove(level)
					_ = root.Rename(level+"-stolen", level)
				}
				for _, name := range []string{"holder-0.json", "layout-0.json", ownerFile} {
					_ = root.Link(filepath.Join(precious, "file"), filepath.Join(hash, name))
				}
				_ = root.Symlink(filepath.Join(path, precious, "folder"), filepath.Join(own, "folder"))
				_ = root.Remove(filepath.Join(hash, "holder-0.json"))
			}
		})
	}
	t.Cleanup(func() { close(stop); all.Wait(); _ = root.Close() })
}

// TestAdversaryHarmsNobody checks that no foreign file changes if an adversary renames and links while a directory is
// created and removed. Each round may succeed or fail.
func TestAdversaryHarmsNobody(t *testing.T) {
	path := t.TempDir()
	mount := mustProve(t, path)
	precious := filepath.Join(path, "precious")
	for _, name := range []string{"file", "folder/file", "client-0/file", "holder-0.json", "layout-0.json"} {
		mustWrite(t, filepath.Join(precious, name), name)
	}
	before := sumsOf(t, precious)
	adversary(t, path, filepath.Base(precious))
	removed := 0
	for range 300 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		d, hold, err := Take(ctx, mount, client(0), testOwner(), testHolder("ours"), func(Holder) {})
		cancel()
		if err != nil {
			continue
		}
		_ = d.SetLaidOut(LaidOut{"data": {Bytes: 1}})
		if d.Remove(t.Context()) == nil {
			removed++
		}
		_ = d.Close()
		hold.Release()
	}
	t.Logf("%d removals", removed)
	if after := sumsOf(t, precious); after != before {
		t.Errorf("foreign files have changed:\n%s\n%s", before, after)
	}
}
