package burstfs

import (
	"context"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

var (
	_ fs.NodeGetlker  = (*node)(nil)
	_ fs.NodeSetlker  = (*node)(nil)
	_ fs.NodeSetlkwer = (*node)(nil)
)

// The kernel calls these methods only for a store that is configured with NoLocks.

// Getlk implements fs.NodeGetlker.
func (*node) Getlk(context.Context, fs.FileHandle, uint64, *fuse.FileLock, uint32, *fuse.FileLock) syscall.Errno {
	return syscall.ENOLCK
}

// Setlk implements fs.NodeSetlker.
func (*node) Setlk(context.Context, fs.FileHandle, uint64, *fuse.FileLock, uint32) syscall.Errno {
	return syscall.ENOLCK
}

// Setlkw implements fs.NodeSetlkwer.
func (*node) Setlkw(context.Context, fs.FileHandle, uint64, *fuse.FileLock, uint32) syscall.Errno {
	return syscall.ENOLCK
}
