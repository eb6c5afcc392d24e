package burstfs

import (
	"context"
	"path/filepath"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/storagebench/storagebench/test/burstfs/model"
)

// node is a file or directory. It adds failures to the operations that create or change something, and opens files as
// this package's file type.
type node struct {
	*fs.LoopbackNode
	store *store
}

var (
	_ fs.NodeWrapChilder = (*node)(nil)
	_ fs.NodeOpener      = (*node)(nil)
	_ fs.NodeCreater     = (*node)(nil)
	_ fs.NodeTmpfiler    = (*node)(nil)
	_ fs.NodeLookuper    = (*node)(nil)
	_ fs.NodeGetattrer   = (*node)(nil)
	_ fs.NodeSetattrer   = (*node)(nil)
)

// WrapChild makes every child a node of this package.
func (n *node) WrapChild(_ context.Context, child fs.InodeEmbedder) fs.InodeEmbedder {
	return &node{LoopbackNode: child.(*fs.LoopbackNode), store: n.store}
}

// name returns the name of the node in its directory, for matching with failures.
func (n *node) name() string {
	name, _ := n.Parent()
	return name
}

// Lookup finds a file. Its attributes show the space after compression.
func (n *node) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	inode, errno := n.LoopbackNode.Lookup(ctx, name, out)
	if errno == 0 {
		n.store.show(inode.StableAttr().Ino, filepath.Join(n.behind(), name), &out.Attr)
	}
	return inode, errno
}

// Getattr returns attributes, which show the space after compression.
func (n *node) Getattr(ctx context.Context, handle fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	errno := n.LoopbackNode.Getattr(ctx, handle, out)
	if errno == 0 {
		n.store.show(n.StableAttr().Ino, n.behind(), &out.Attr)
	}
	return errno
}

// behind returns the path of the node's backing file.
func (n *node) behind() string { return filepath.Join(n.RootData.Path, n.Path(n.Root())) }

// Open opens the backing file and returns a file of this package.
func (n *node) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	if flags&syscall.O_ACCMODE != syscall.O_RDONLY {
		if errno := n.store.metadata(model.Change, n.name()); errno != 0 {
			return nil, 0, errno
		}
	}
	handle, _, errno := n.LoopbackNode.Open(ctx, backing(flags))
	if errno != 0 {
		return nil, 0, errno
	}
	f, errno := newFile(handle, n.store, n.name(), n.StableAttr().Ino)
	if errno != 0 {
		return nil, 0, errno
	}
	return f, opened, 0
}

// Create makes a file and opens it.
func (n *node) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	if errno := n.store.metadata(model.Create, name); errno != 0 {
		return nil, nil, 0, errno
	}
	n.store.names.created(n.name())
	inode, handle, _, errno := n.LoopbackNode.Create(ctx, name, backing(flags), mode, out)
	if errno != 0 {
		return nil, nil, 0, errno
	}
	f, errno := newFile(handle, n.store, name, inode.StableAttr().Ino)
	if errno != 0 {
		return nil, nil, 0, errno
	}
	return inode, f, opened, 0
}

// Tmpfile makes a file without a name and opens it.
func (n *node) Tmpfile(ctx context.Context, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	if errno := n.store.metadata(model.Create, ""); errno != 0 {
		return nil, nil, 0, errno
	}
	inode, handle, _, errno := n.LoopbackNode.Tmpfile(ctx, backing(flags), mode, out)
	if errno != 0 {
		return nil, nil, 0, errno
	}
	f, errno := newFile(handle, n.store, "", inode.StableAttr().Ino)
	if errno != 0 {
		return nil, nil, 0, errno
	}
	return inode, f, opened, 0
}

// Mkdir, Mknod, Symlink and Link are subject to failures of the kind Create.

// Mkdir makes a directory.
func (n *node) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if errno := n.store.metadata(model.Create, name); errno != 0 {
		return nil, errno
	}
	return n.LoopbackNode.Mkdir(ctx, name, mode, out)
}

// Mknod makes a file of any kind.
func (n *node) Mknod(ctx context.Context, name string, mode, device uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if errno := n.store.metadata(model.Create, name); errno != 0 {
		return nil, errno
	}
	return n.LoopbackNode.Mknod(ctx, name, mode, device, out)
}

// Symlink makes a symbolic link.
func (n *node) Symlink(ctx context.Context, target, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if errno := n.store.metadata(model.Create, name); errno != 0 {
		return nil, errno
	}
	return n.LoopbackNode.Symlink(ctx, target, name, out)
}

// Link makes a hard link.
func (n *node) Link(ctx context.Context, target fs.InodeEmbedder, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if errno := n.store.metadata(model.Create, name); errno != 0 {
		return nil, errno
	}
	return n.LoopbackNode.Link(ctx, target, name, out)
}

// Unlink, Rmdir, Rename, Setattr, Setxattr and Removexattr are subject to failures of the kind Change.

// Unlink removes a name, and the file from the server's cache.
func (n *node) Unlink(ctx context.Context, name string) syscall.Errno {
	if errno := n.store.metadata(model.Change, name); errno != 0 {
		return errno
	}
	n.store.names.removed(n.name())
	if child := n.GetChild(name); child != nil {
		n.store.forget(child.StableAttr().Ino)
	}
	return n.LoopbackNode.Unlink(ctx, name)
}

// Rmdir removes a directory.
func (n *node) Rmdir(ctx context.Context, name string) syscall.Errno {
	if errno := n.store.metadata(model.Change, name); errno != 0 {
		return errno
	}
	return n.LoopbackNode.Rmdir(ctx, name)
}

// Rename renames a file or directory, and forgets a file that it replaces.
func (n *node) Rename(ctx context.Context, name string, parent fs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	if errno := n.store.metadata(model.Change, name); errno != 0 {
		return errno
	}
	if replaced := parent.EmbeddedInode().GetChild(newName); replaced != nil {
		n.store.forget(replaced.StableAttr().Ino)
	}
	return n.LoopbackNode.Rename(ctx, name, parent, newName, flags)
}

// Setattr changes mode, owner, times or size. If the size changes, the cache forgets the file.
func (n *node) Setattr(ctx context.Context, handle fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if errno := n.store.metadata(model.Change, n.name()); errno != 0 {
		return errno
	}
	errno := n.LoopbackNode.Setattr(ctx, handle, in, out)
	if _, ok := in.GetSize(); ok {
		n.store.forget(n.StableAttr().Ino)
	}
	if errno == 0 {
		n.store.show(n.StableAttr().Ino, n.behind(), &out.Attr)
	}
	return errno
}

// Setxattr sets an extended attribute.
func (n *node) Setxattr(ctx context.Context, attribute string, data []byte, flags uint32) syscall.Errno {
	if errno := n.store.metadata(model.Change, n.name()); errno != 0 {
		return errno
	}
	return n.LoopbackNode.Setxattr(ctx, attribute, data, flags)
}

// Removexattr removes an extended attribute.
func (n *node) Removexattr(ctx context.Context, attribute string) syscall.Errno {
	if errno := n.store.metadata(model.Change, n.name()); errno != 0 {
		return errno
	}
	return n.LoopbackNode.Removexattr(ctx, attribute)
}
