package burstfs

import (
	"context"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/storagebench/storagebench/test/burstfs/model"
)

// opened are the FUSE flags of every open file: no read or write is served from the page cache, and writes to one file
// arrive concurrently.
const opened = fuse.FOPEN_DIRECT_IO | fuse.FOPEN_PARALLEL_DIRECT_WRITES

// file is an open file. The embedded loopback file implements all other operations on the same descriptor.
type file struct {
	*fs.LoopbackFile
	descriptor int // of LoopbackFile, which closes it
	store      *store
	name       string
	number     uint64
}

func newFile(handle fs.FileHandle, s *store, name string, number uint64) (*file, syscall.Errno) {
	loopback, ok := handle.(*fs.LoopbackFile)
	if !ok {
		return nil, syscall.EIO
	}
	descriptor, ok := loopback.PassthroughFd()
	if !ok {
		return nil, syscall.EBADF
	}
	return &file{LoopbackFile: loopback, descriptor: descriptor, store: s, name: name, number: number}, 0
}

// backing returns the flags for opening the backing file. O_DIRECT is removed, because the disk would otherwise limit
// the rate. O_APPEND is removed, because the kernel passes the offset of an append.
func backing(flags uint32) uint32 {
	return flags &^ (syscall.O_DIRECT | syscall.O_APPEND)
}

func (f *file) request(kind model.Kind, offset int64, bytes int) model.Request {
	return model.Request{Kind: kind, File: f.number, Name: f.name, Offset: offset, Bytes: int64(bytes)}
}

// reading returns a request for existing bytes.
func (f *file) reading(offset int64, bytes int) model.Request {
	r := f.request(model.Read, offset, bytes)
	r.Stored = f.store.records.stored(f.number, offset, int64(bytes))
	return r
}

// Read reads before it submits the request to the model, because only then is the number of bytes known.
func (f *file) Read(_ context.Context, buffer []byte, offset int64) (fuse.ReadResult, syscall.Errno) {
	n, err := pread(f.descriptor, buffer, offset)
	if err != nil {
		return nil, fs.ToErrno(err)
	}
	if n > 0 {
		if errno := f.store.submit(f.reading(offset, n)).wait(); errno != 0 {
			return nil, errno
		}
	}
	return fuse.ReadResultData(buffer[:n]), 0
}

// Write writes while the model processes the request.
func (f *file) Write(ctx context.Context, data []byte, offset int64) (uint32, syscall.Errno) {
	request := f.request(model.Write, offset, len(data))
	compressed := f.store.records.compress(data, offset)
	request.Stored = compressed.bytes
	turn := f.store.submit(request)
	if turn.errno != 0 {
		return 0, turn.wait()
	}
	n, errno := f.LoopbackFile.Write(ctx, data, offset)
	f.store.records.wrote(f.number, compressed)
	f.store.space.wrote(f.number)
	if late := turn.wait(); late != 0 {
		return 0, late
	}
	return n, errno
}

// Writev combines the parts into a single Write.
func (f *file) Writev(ctx context.Context, data [][]byte, offset int64) (uint32, syscall.Errno) {
	if len(data) == 1 {
		return f.Write(ctx, data[0], offset)
	}
	var all []byte
	for _, part := range data {
		all = append(all, part...)
	}
	return f.Write(ctx, all, offset)
}

// Fsync syncs while the model processes the request.
func (f *file) Fsync(ctx context.Context, flags uint32) syscall.Errno {
	turn := f.store.submit(f.request(model.Sync, 0, 0))
	if turn.errno != 0 {
		return turn.wait()
	}
	errno := f.LoopbackFile.Fsync(ctx, flags)
	if late := turn.wait(); late != 0 {
		return late
	}
	return errno
}

// Allocate allocates space. It fails if the store is configured to be full or read-only.
func (f *file) Allocate(ctx context.Context, offset, size uint64, mode uint32) syscall.Errno {
	if errno := f.store.metadata(model.Write, f.name); errno != 0 {
		return errno
	}
	errno := f.LoopbackFile.Allocate(ctx, offset, size, mode)
	f.store.records.forget(f.number)
	return errno
}

// PassthroughFd refuses FUSE passthrough, with which the kernel would bypass this server.
func (f *file) PassthroughFd() (int, bool) { return 0, false }

// pread reads until the buffer is full or the file ends.
func pread(descriptor int, buffer []byte, offset int64) (int, error) {
	n := 0
	for n < len(buffer) {
		got, err := unix.Pread(descriptor, buffer[n:], offset+int64(n))
		if err == syscall.EINTR { //nolint:errorlint // a system call gives the number itself
			continue
		}
		if err != nil {
			return n, err
		}
		if got == 0 {
			break
		}
		n += got
	}
	return n, nil
}
