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

// adversary runs as our own user. It repeatedly replaces the levels of a client's directory with links to a directory
// of foreign files, and links those files under our names, until the test ends. It follows no link itself: its links
// are absolute, which os.Root refuses.
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
				// An operation that fails has lost its race.
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

// An adversary renames and links while a directory is taken and removed. No foreign file may change. Whether a round
// succeeds is a matter of chance.
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
		t.Errorf("somebody's files have changed:\n%s\n%s", before, after)
	}
}
