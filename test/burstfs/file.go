package burstfs

import (
	"context"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/storagebench/storagebench/test/burstfs/model"
)

// opened are the kernel's flags of every open file: each read and write comes here, and writes to one
// file come at the same time.
const opened = fuse.FOPEN_DIRECT_IO | fuse.FOPEN_PARALLEL_DIRECT_WRITES

// file is an open file. What it does not do itself the loopback does with the same descriptor.
type file struct {
	*fs.LoopbackFile
	descriptor int // the loopback's, which it closes
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

// backing are the flags to open the file behind with. Without the page cache the pace would be that of
// the disk behind; the kernel gives the place of an append.
func backing(flags uint32) uint32 {
	return flags &^ (syscall.O_DIRECT | syscall.O_APPEND)
}

func (f *file) request(kind model.Kind, offset int64, bytes int) model.Request {
	return model.Request{Kind: kind, File: f.number, Name: f.name, Offset: offset, Bytes: int64(bytes)}
}

// reading is a request for bytes that are there.
func (f *file) reading(offset int64, bytes int) model.Request {
	r := f.request(model.Read, offset, bytes)
	r.Stored = f.store.records.stored(f.number, offset, int64(bytes))
	return r
}

// Read reads first and then waits its turn, because only then it knows how much there is.
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

// Write writes while it waits its turn.
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

// Writev is a Write.
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

// Fsync syncs while it waits for the latency.
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

// Allocate takes space, which a full or read-only store has not.
func (f *file) Allocate(ctx context.Context, offset, size uint64, mode uint32) syscall.Errno {
	if errno := f.store.metadata(model.Write, f.name); errno != 0 {
		return errno
	}
	errno := f.LoopbackFile.Allocate(ctx, offset, size, mode)
	f.store.records.forget(f.number)
	return errno
}

// PassthroughFd refuses to let the kernel read and write the file behind by itself.
func (f *file) PassthroughFd() (int, bool) { return 0, false }

// pread fills a buffer as far as the file goes.
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
