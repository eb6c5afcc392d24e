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
)

// lateStore stands in for a store that compresses 2:1 and tells it late, as ZFS does: until so long after the last write
// it says that a file takes one block. It is a directory of this machine that says other things of its files.
type lateStore struct {
	late time.Duration

	mu      sync.Mutex
	written time.Time
	// flushed counts what was written out.
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
	if attr.Blocks /= 2; time.Since(s.written) < s.late {
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

// There is no file system here that shows what it compresses. This is the whole way on one that is made to.
func TestSettledUsageOfALateStore(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can mount it")
	}
	withMounts(t, func() {
		backing, at := t.TempDir(), t.TempDir()
		store := &lateStore{late: 2 * time.Second}
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
		d := mustCreate(t, at, 0)
		mustPut(t, filepath.Join(d.Path(), "data"), 4*mib)
		store.mu.Lock()
		store.written = time.Now()
		store.mu.Unlock()

		unsettled, err := d.SettledUsage(t.Context(), MaxUsageFiles, 0)
		must(t, err)
		if unsettled.Settled || unsettled.AllocatedBytes != 512 {
			t.Errorf("at once, without patience: %+v", unsettled)
		}
		begun := time.Now()
		settled, err := d.SettledUsage(t.Context(), MaxUsageFiles, 20*time.Second)
		must(t, err)
		if !settled.Settled || settled.DataBytes != 4*mib || settled.AllocatedBytes != 2*mib {
			t.Errorf("%+v", settled)
		}
		if took := time.Since(begun); took < restFor || took > 15*time.Second {
			t.Errorf("it took %s", took)
		}
		store.mu.Lock()
		defer store.mu.Unlock()
		if store.flushed == 0 {
			t.Error("nothing was written out")
		}
		if d.mount.Compression() != CompressionUnknown {
			t.Errorf("%s: %s", d.mount.FilesystemType, d.mount.Compression())
		}
	})
}
