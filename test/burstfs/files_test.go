package burstfs_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/storagebench/storagebench/test/burstfs"
	"github.com/storagebench/storagebench/test/burstfs/model"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, name string) []byte {
	t.Helper()
	got, err := os.ReadFile(name)
	must(t, err)
	return got
}

// TestFilesPassThrough checks that the mount behaves like an ordinary file system, and that changes reach the backing
// directory.
func TestFilesPassThrough(t *testing.T) {
	backing := t.TempDir()
	f := burstfs.Mount(t, model.Config{}, backing)
	at := func(name string) string { return filepath.Join(f.Path(), name) }
	behind := func(name string) string { return filepath.Join(backing, name) }
	data := bytes.Repeat([]byte("0123456789abcdef"), 200_000) // 3.2 MB: several requests

	must(t, os.MkdirAll(at("a/b"), 0o750))
	must(t, os.WriteFile(at("a/b/file"), data, 0o640))
	if !bytes.Equal(content(t, behind("a/b/file")), data) || !bytes.Equal(content(t, at("a/b/file")), data) {
		t.Error("what was written is not there")
	}
	must(t, os.Rename(at("a/b/file"), at("a/moved")))
	must(t, os.Truncate(at("a/moved"), 1000))
	must(t, os.Chmod(at("a/moved"), 0o600))
	must(t, os.Link(at("a/moved"), at("a/second")))
	must(t, os.Symlink("moved", at("a/symbolic")))
	if got := content(t, at("a/symbolic")); !bytes.Equal(got, data[:1000]) {
		t.Errorf("%d bytes after truncation to 1000", len(got))
	}
	info, err := os.Stat(behind("a/second"))
	must(t, err)
	if info.Mode().Perm() != 0o600 || info.Size() != 1000 {
		t.Errorf("behind the mount: %v, %d bytes", info.Mode(), info.Size())
	}

	entries, err := os.ReadDir(at("a"))
	must(t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if want := []string{"b", "moved", "second", "symbolic"}; !slices.Equal(names, want) {
		t.Errorf("the directory has %q, want %q", names, want)
	}
	must(t, os.Remove(at("a/second")))
	must(t, os.Remove(at("a/b")))
	if _, err := os.Stat(behind("a/second")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("removed, and behind the mount %v", err)
	}

	var mounted, behindIt syscall.Statfs_t
	must(t, syscall.Statfs(f.Path(), &mounted))
	must(t, syscall.Statfs(backing, &behindIt))
	if mounted.Blocks != behindIt.Blocks || mounted.Bsize != behindIt.Bsize || mounted.Type != unix.FUSE_SUPER_MAGIC {
		t.Errorf("statfs: %+v, behind %+v", mounted, behindIt)
	}
}

func TestOpenFiles(t *testing.T) {
	f := burstfs.Mount(t, model.Config{}, "")
	name := filepath.Join(f.Path(), "file")

	appended, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND|os.O_EXCL, 0o644)
	must(t, err)
	for _, part := range []string{"one ", "two ", "three"} {
		_, err = io.WriteString(appended, part)
		must(t, err)
	}
	must(t, appended.Sync())
	must(t, appended.Close())
	if got := string(content(t, name)); got != "one two three" {
		t.Errorf("appended: %q", got)
	}
	if _, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o644); !errors.Is(err, os.ErrExist) {
		t.Errorf("O_EXCL of what exists: %v", err)
	}

	open, err := os.OpenFile(name, os.O_RDWR|os.O_TRUNC|syscall.O_DIRECT, 0)
	must(t, err)
	defer open.Close()
	// O_DIRECT is accepted for any size, because the backing file is opened without it.
	_, err = open.WriteAt(bytes.Repeat([]byte("x"), 4096), 1<<20)
	must(t, err)
	data, err := unix.Seek(int(open.Fd()), 0, unix.SEEK_DATA)
	must(t, err)
	hole, err := unix.Seek(int(open.Fd()), data, unix.SEEK_HOLE)
	must(t, err)
	if data != 1<<20 || hole != 1<<20+4096 {
		t.Errorf("data from %d to %d, want the 4096 bytes at 1 MiB", data, hole)
	}
	must(t, syscall.Fallocate(int(open.Fd()), 0, 0, 2<<20))
	info, err := open.Stat()
	must(t, err)
	if info.Size() != 2<<20 {
		t.Errorf("%d bytes after fallocate of 2 MiB", info.Size())
	}

	must(t, os.Remove(name))
	_, err = open.WriteAt([]byte("still"), 0)
	must(t, err)
	got := make([]byte, 5)
	_, err = open.ReadAt(got, 0)
	must(t, err)
	if string(got) != "still" {
		t.Errorf("a removed file that is open has %q", got)
	}
	if n, err := open.ReadAt(got, 2<<20); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("behind the end: %d bytes, %v", n, err)
	}
}

func TestFailuresReachTheClient(t *testing.T) {
	f := burstfs.Mount(t, model.Config{}, "")
	name := filepath.Join(f.Path(), "file")
	must(t, os.WriteFile(name, []byte("text"), 0o644))
	expect := func(what string, err error, want syscall.Errno) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	open, err := os.OpenFile(name, os.O_RDWR, 0)
	must(t, err)
	defer open.Close()
	write := func() error { _, err := open.WriteAt([]byte("X"), 0); return err }

	f.Fail(model.Failure{Error: model.FailureEIO, Kinds: []model.Kind{model.Read, model.Sync}})
	_, err = os.ReadFile(name)
	expect("read", err, syscall.EIO)
	expect("sync", open.Sync(), syscall.EIO)
	must(t, write())
	f.Heal()
	must(t, open.Sync())

	f.Fail(model.Failure{Error: model.FailureENOSPC})
	expect("write to a full store", write(), syscall.ENOSPC)
	expect("create on a full store", os.WriteFile(name+"2", nil, 0o644), syscall.ENOSPC)
	expect("fallocate on a full store", syscall.Fallocate(int(open.Fd()), 0, 0, 1<<20), syscall.ENOSPC)
	must(t, os.Truncate(name, 2))
	f.Heal()

	f.Fail(model.Failure{Error: model.FailureEROFS})
	expect("write to a read-only store", write(), syscall.EROFS)
	expect("remove from a read-only store", os.Remove(name), syscall.EROFS)
	expect("mkdir on a read-only store", os.Mkdir(name+"3", 0o755), syscall.EROFS)
	_, err = os.OpenFile(name, os.O_WRONLY, 0)
	expect("open for writing of a read-only store", err, syscall.EROFS)
	if got := string(content(t, name)); got != "Xe" {
		t.Errorf("failed writes left %q", got)
	}
	f.Heal()

	f.Fail(model.Failure{Error: model.FailureStall, Stall: time.Second, Path: "file", Count: 1})
	must(t, write())
	errors := int64(0)
	time.Sleep(1100 * time.Millisecond)
	for _, s := range f.Truth() {
		errors += s.Errors
	}
	if errors != 4 {
		t.Errorf("%d errors in the truth, want those of read, sync and two writes", errors)
	}
}

// TestCacheServesFiles checks that the second read of a file comes from the server's cache, not from the disk, whose
// bucket is empty.
func TestCacheServesFiles(t *testing.T) {
	config := scenario(t, "fsx-windows-32-hdd")
	config.Buckets[1].StartFill = model.Pointer(0) // the disk has a baseline of 8 MB/s
	backing := t.TempDir()
	f := burstfs.Mount(t, config, backing)
	data := bytes.Repeat([]byte("x"), 8<<20)
	must(t, os.WriteFile(filepath.Join(backing, "file"), data, 0o644))
	for range 2 {
		if got := content(t, filepath.Join(f.Path(), "file")); !bytes.Equal(got, data) {
			t.Errorf("%d bytes, not those that were written", len(got))
		}
	}
	time.Sleep(1100 * time.Millisecond)
	var cached int64
	for _, s := range f.Truth() {
		cached += s.CachedReadBytes
	}
	if cached != int64(len(data)) {
		t.Errorf("%d bytes came from the cache, want %d", cached, len(data))
	}
}

func TestSetWhileMounted(t *testing.T) {
	limit := func(perSecond float64) model.Config {
		return model.Config{Buckets: []model.Bucket{{Name: "volume", Counts: model.CountsOperations, BaselinePerSecond: perSecond}}}
	}
	f := burstfs.Mount(t, limit(1e-4), "") // a write takes hours
	done := make(chan error)
	go func() { done <- os.WriteFile(filepath.Join(f.Path(), "file"), []byte("x"), 0o644) }()
	for inFlight := 0; inFlight == 0; time.Sleep(time.Millisecond) {
		_, inFlight = f.Load()
	}
	f.Set(limit(1000))
	must(t, <-done)
	if got := f.Config().Buckets[0].BaselinePerSecond; got != 1000 {
		t.Errorf("the configuration still has %g", got)
	}
}

func TestCloseWhileInUse(t *testing.T) {
	f := burstfs.Mount(t, model.Config{Latency: model.Latency{Fixed: time.Hour}}, "")
	open, err := os.Create(filepath.Join(f.Path(), "file"))
	must(t, err)
	defer open.Close()
	failed := make(chan error)
	go func() { _, err := open.WriteAt([]byte("x"), 0); failed <- err }()
	for inFlight := 0; inFlight == 0; time.Sleep(time.Millisecond) {
		_, inFlight = f.Load()
	}
	closed := make(chan error)
	go func() { closed <- f.Close() }()
	if err := <-failed; !errors.Is(err, syscall.EIO) {
		t.Errorf("the write under way: %v, want EIO", err)
	}
	must(t, <-closed)
	entries, err := os.ReadDir(f.Path())
	must(t, err)
	if len(entries) != 0 {
		t.Errorf("the mount is still there: %v", entries)
	}
}

// TestCloseWhileAnotherNamespaceHasTheMount checks that Close works if another mount namespace has a copy of the mount,
// which an unmount does not remove.
func TestCloseWhileAnotherNamespaceHasTheMount(t *testing.T) {
	f := burstfs.Mount(t, model.Config{}, "")
	must(t, os.WriteFile(filepath.Join(f.Path(), "file"), nil, 0o644))
	script := `echo ready; read -r line; ls "$1"`
	other := exec.CommandContext(t.Context(), "unshare", "--mount", "--propagation=private", "sh", "-c", script, "sh", f.Path())
	input, err := other.StdinPipe()
	must(t, err)
	output, err := other.StdoutPipe()
	must(t, err)
	must(t, other.Start())
	ready := make([]byte, len("ready\n"))
	_, err = io.ReadFull(output, ready)
	must(t, err)
	closed := make(chan error, 1)
	go func() { closed <- f.Close() }()
	select {
	case err := <-closed:
		must(t, err)
	case <-time.After(5 * time.Minute):
		t.Error("hung: not closed after five minutes")
	}
	must(t, input.Close())
	if err := other.Wait(); err == nil {
		t.Error("the other namespace still lists the files")
	}
}

// TestLocks checks that a store with NoLocks refuses locks, and that locks work on any other store.
func TestLocks(t *testing.T) {
	for _, noLocks := range []bool{false, true} {
		f := burstfs.Mount(t, model.Config{NoLocks: noLocks}, "")
		first, err := os.Create(filepath.Join(f.Path(), "file"))
		must(t, err)
		defer func() { _ = first.Close() }()
		second, err := os.Open(filepath.Join(f.Path(), "file"))
		must(t, err)
		defer func() { _ = second.Close() }()
		taken := unix.Flock(int(first.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		refused := unix.Flock(int(second.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case noLocks && (!errors.Is(taken, unix.ENOLCK) || !errors.Is(refused, unix.ENOLCK)):
			t.Errorf("without locks: %v, %v", taken, refused)
		case !noLocks && (taken != nil || !errors.Is(refused, unix.EWOULDBLOCK)):
			t.Errorf("with locks: %v, %v", taken, refused)
		}
	}
}
