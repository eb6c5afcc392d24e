package dataset

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/storagebench/storagebench/test/hang"
)

// lateStore is a FUSE mount of a local directory that reports disk usage late: every file appears to use one block
// until it has been queried often enough after a flush.
type lateStore struct {
	mu sync.Mutex
	// looks is the number of further queries after the first flush that get the old figure. All queries before that flush
	// get it too.
	looks int
	// flushed is the number of flushes.
	flushed int
}

type lateNode struct {
	*fs.LoopbackNode
	store *lateStore
}

func (n *lateNode) WrapChild(_ context.Context, child fs.InodeEmbedder) fs.InodeEmbedder {
	if loopback, ok := child.(*fs.LoopbackNode); ok {
		return &lateNode{LoopbackNode: loopback, store: n.store}
	}
	return child
}

func (s *lateStore) told(attr *fuse.Attr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if attr.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return
	}
	if s.flushed > 0 && s.looks > 0 {
		s.looks--
	}
	if s.looks > 0 {
		attr.Blocks = 1
	}
}

func (n *lateNode) Getattr(ctx context.Context, f fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	failed := n.LoopbackNode.Getattr(ctx, f, out)
	n.store.told(&out.Attr)
	return failed
}

func (n *lateNode) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	inode, failed := n.LoopbackNode.Lookup(ctx, name, out)
	n.store.told(&out.Attr)
	return inode, failed
}

func (n *lateNode) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	n.store.mu.Lock()
	defer n.store.mu.Unlock()
	n.store.flushed++
	return 0
}

// lateDataset mounts such a store and creates a client's directory on it.
func lateDataset(t *testing.T, store *lateStore) *Dataset {
	t.Helper()
	backing, at := t.TempDir(), t.TempDir()
	loopback, err := fs.NewLoopbackRoot(backing)
	must(t, err)
	root := (&lateNode{store: store}).WrapChild(t.Context(), loopback)
	var never time.Duration
	server, err := fs.Mount(at, root, &fs.Options{AttrTimeout: &never, EntryTimeout: &never,
		MountOptions: fuse.MountOptions{DirectMountStrict: true, FsName: "late", Name: "late"}})
	if err != nil {
		t.Skipf("this machine does not allow it: %v", err)
	}
	t.Cleanup(func() { must(t, server.Unmount()) })
	return mustCreate(t, at, 0)
}

func TestSettledUsageOfALateStore(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can mount it")
	}
	withMounts(t, func() {
		store := &lateStore{looks: 5}
		d := lateDataset(t, store)
		mustPut(t, filepath.Join(d.Path(), "data"), 4*mib)

		unsettled, err := d.SettledUsage(t.Context(), MaxUsageFiles, 0)
		must(t, err)
		if unsettled.Settled || unsettled.HolesKnown || unsettled.AllocatedBytes != 512 || store.flushed > 0 {
			t.Errorf("at once, without patience: %+v, %d flushed", unsettled, store.flushed)
		}
		settled, err := d.SettledUsage(t.Context(), MaxUsageFiles, hang.Guard)
		must(t, err)
		if !settled.Settled || settled.DataBytes != 4*mib || settled.AllocatedBytes != 4*mib {
			t.Errorf("%+v", settled)
		}
		if store.flushed == 0 {
			t.Error("nothing was written out")
		}
		if d.mount.Compression() != CompressionUnknown {
			t.Errorf("%s: %s", d.mount.FilesystemType, d.mount.Compression())
		}
	})
}

// TestSettledOfALateStore checks that a file whose disk usage is not up to date is doubtful, and counts as complete
// once the usage is up to date.
func TestSettledOfALateStore(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can mount it")
	}
	withMounts(t, func() {
		store := &lateStore{looks: 5}
		d := lateDataset(t, store)
		d.holes.Do(func() {}) // pretend that it reports no holes, like SMB
		mustPut(t, filepath.Join(d.Path(), "data"), 4*mib)
		first, err := d.Written("data")
		must(t, err)
		if first.Complete() || !first.Doubtful || first.WrittenBytes != 512 {
			t.Errorf("at once: %+v", first)
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		for name, test := range map[string]struct {
			ctx  context.Context
			want bool
		}{"no time is left": {over, false}, "until it is told": {t.Context(), true}} {
			store.looks, store.flushed = 50, 0
			got, err := d.Settled(test.ctx, "data", 4*mib)
			must(t, err)
			if got.Complete() != test.want || got.Doubtful == test.want || store.flushed == 0 {
				t.Errorf("%s: %+v, flushed %d times", name, got, store.flushed)
			}
		}
	})
}
