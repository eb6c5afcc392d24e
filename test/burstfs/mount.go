package burstfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/storagebench/storagebench/test/burstfs/model"
)

const (
	fileSystemType = "fuse.burstfs"
	// requestBytes is the maximum size of a request from the kernel.
	requestBytes = 1 << 20
	// background is the maximum number of outstanding background requests. The kernel's default is 12.
	background = 4096
	// attributes is the time for which the kernel may cache attributes. Nothing else changes the backing directory.
	attributes = time.Second
	// unmounting is the time in which an unmounted store must end. After that, it is considered to be still in use.
	unmounting = 500 * time.Millisecond
)

// FS is a mounted store.
type FS struct {
	path   string
	store  *store
	server *fuse.Server
	close  sync.Once
	failed error // result of Close
}

// New mounts a store at a directory. Its files are in the directory backing. New needs /dev/fuse and root. It first
// removes the mounts of dead stores.
func New(config model.Config, backing, mountPoint string) (*FS, error) {
	var err error
	if mountPoint, err = filepath.Abs(mountPoint); err != nil {
		return nil, fmt.Errorf("finding the mount point: %w", err)
	}
	if backing, err = filepath.Abs(backing); err != nil {
		return nil, fmt.Errorf("finding the directory behind the mount: %w", err)
	}
	if err := RemoveDead(); err != nil {
		return nil, err
	}
	var stat syscall.Stat_t
	if err := syscall.Stat(backing, &stat); err != nil {
		return nil, fmt.Errorf("looking at the directory behind the mount, %s: %w", backing, err)
	}
	s, err := newStore(config)
	if err != nil {
		return nil, err
	}
	server, err := mount(s, backing, stat.Dev, mountPoint)
	if err != nil {
		s.close()
		return nil, err
	}
	return &FS{path: mountPoint, store: s, server: server}, nil
}

// mount does not let the library mount, because child processes would inherit the library's connection. A child could
// then keep the connection open after this process has ended.
func mount(s *store, backing string, device uint64, mountPoint string) (*fuse.Server, error) {
	connection, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening /dev/fuse, which the kernel must offer (a container needs the device): %w", err)
	}
	data := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d,max_read=%d,allow_other,default_permissions",
		connection, os.Geteuid(), os.Getegid(), requestBytes)
	if err := unix.Mount("burstfs", mountPoint, fileSystemType, unix.MS_NOSUID|unix.MS_NODEV, data); err != nil {
		_ = unix.Close(connection)
		return nil, fmt.Errorf("mounting at %s, which needs root: %w", mountPoint, err)
	}
	rootData := &fs.LoopbackRoot{Path: backing, Dev: device}
	root := &node{LoopbackNode: &fs.LoopbackNode{RootData: rootData}, store: s}
	rootData.RootNode = root
	timeout := attributes
	options := &fs.Options{
		EntryTimeout: &timeout, AttrTimeout: &timeout, NullPermissions: true,
		MountOptions: fuse.MountOptions{
			FsName: "burstfs", Name: "burstfs", MaxBackground: background, MaxWrite: requestBytes,
			DisableSplice:        true, // 1 MiB and a header do not fit into a pipe, and the data is in memory anyway
			ExtraCapabilities:    fuse.CAP_ASYNC_DIO | fuse.CAP_DIRECT_IO_ALLOW_MMAP,
			DisabledCapabilities: fuse.CAP_PASSTHROUGH,
			EnableLocks:          s.noLocks, // without it, the kernel handles locks itself
		},
	}
	// The library treats a path of this form as a connection that is already mounted.
	server, err := fuse.NewServer(fs.NewNodeFS(root, options), fmt.Sprintf("/dev/fd/%d", connection), &options.MountOptions)
	if err != nil {
		_ = unix.Unmount(mountPoint, unix.MNT_DETACH)
		return nil, fmt.Errorf("serving %s: %w", mountPoint, err)
	}
	go server.Serve()
	refusePoll(mountPoint)
	return server, nil
}

// refusePoll opens a file that the library provides for this purpose and polls it. The library refuses this first poll,
// and the kernel sends no more. Otherwise, a Go program that opens files of a mount that it serves itself could
// deadlock.
func refusePoll(mountPoint string) {
	descriptor, err := unix.Open(filepath.Join(mountPoint, ".go-fuse-epoll-hack"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	_, _ = unix.Poll([]unix.PollFd{{Fd: int32(descriptor), Events: unix.POLLIN}}, 0)
	_ = unix.Close(descriptor)
}

// Path returns the mount point.
func (f *FS) Path() string { return f.path }

// Start returns the time of day at which the model's time is 0.
func (f *FS) Start() time.Time { return f.store.start }

// Config returns the current configuration.
func (f *FS) Config() (config model.Config) {
	f.store.with(func(m *model.Model, _ time.Duration) { config = m.Config() })
	return config
}

// Set changes the configuration; see [model.Model.Reconfigure] for the state that the store keeps.
func (f *FS) Set(config model.Config) (err error) {
	f.store.with(func(m *model.Model, now time.Duration) { err = m.Reconfigure(now, config) })
	return err
}

// Fail adds a failure. The failure's At counts from now.
func (f *FS) Fail(failure model.Failure) error {
	if err := failure.Validate(); err != nil {
		return fmt.Errorf("adding a failure: %w", err)
	}
	f.store.with(func(m *model.Model, now time.Duration) { m.Fail(now, failure) })
	return nil
}

// Heal ends all failures, including those of the configuration.
func (f *FS) Heal() {
	f.store.with(func(m *model.Model, now time.Duration) { m.Heal(now) })
}

// Load returns the number of requests submitted since the start, and how many of them are outstanding.
func (f *FS) Load() (asked uint64, inFlight int) {
	f.store.with(func(m *model.Model, _ time.Duration) { asked, inFlight = m.Load() })
	return asked, inFlight
}

// Credits returns the credits of a bucket, at most a second old. ok is false if there is no such bucket.
func (f *FS) Credits(bucket string) (credits float64, ok bool) {
	f.store.with(func(m *model.Model, _ time.Duration) { credits, ok = m.Credits(bucket) })
	return credits, ok
}

// Truth returns the record of all complete seconds since the store was mounted.
func (f *FS) Truth() []model.Second { return f.TruthFrom(0) }

// TruthFrom returns the record of the complete seconds, beginning with the given one.
func (f *FS) TruthFrom(second int) (seconds []model.Second) {
	f.store.with(func(m *model.Model, _ time.Duration) { seconds = m.Truth(second) })
	return seconds
}

// Close unmounts the store. Outstanding requests fail with EIO. A mount that is still in use is detached. The record
// can still be read.
func (f *FS) Close() error {
	f.close.Do(func() {
		f.store.close()
		device, deviceErr := deviceOf(f.path)
		err := unix.Unmount(f.path, 0)
		for try := 0; errors.Is(err, unix.EBUSY) && try < 20; try++ {
			time.Sleep(10 * time.Millisecond)
			err = unix.Unmount(f.path, 0)
		}
		if errors.Is(err, unix.EBUSY) {
			err = unix.Unmount(f.path, unix.MNT_DETACH)
		}
		if err != nil {
			f.failed = fmt.Errorf("unmounting %s: %w", f.path, err)
			return
		}
		f.failed = f.end(device, deviceErr)
	})
	return f.failed
}

// end waits until the kernel closes the connection, when the last copy of the mount is gone. Open files and new mount
// namespaces, such as a container's, keep a copy. If it takes too long, end aborts the connection.
func (f *FS) end(device uint32, deviceErr error) error {
	ended := make(chan struct{})
	go func() {
		f.server.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-time.After(unmounting):
	}
	if deviceErr != nil {
		return fmt.Errorf("ending a mount that is still in use: %w", deviceErr)
	}
	if err := abort(device); err != nil {
		return fmt.Errorf("ending a mount that is still in use: %w", err)
	}
	<-ended
	return nil
}
