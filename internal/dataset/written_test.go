package dataset

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const mib = 1 << 20

func TestWritten(t *testing.T) {
	t.Run("disk", func(t *testing.T) { testWritten(t, t.TempDir()) })
	t.Run("tmpfs", func(t *testing.T) {
		if _, err := os.Stat("/dev/shm"); err != nil {
			t.Skip("no /dev/shm")
		}
		path, err := os.MkdirTemp("/dev/shm", "storagebench-test-")
		must(t, err)
		t.Cleanup(func() { _ = os.RemoveAll(path) })
		testWritten(t, path)
	})
}

func testWritten(t *testing.T, path string) {
	t.Helper()
	d := mustCreate(t, path, 0)
	t.Logf("file system %s", mustProve(t, path).FilesystemType)
	block := make([]byte, mib)
	for i := range block {
		block[i] = byte(i*7 + 1)
	}
	tests := map[string]struct {
		make              func(t *testing.T, file *os.File)
		apparent, written uint64
	}{
		"empty": {func(*testing.T, *os.File) {}, 0, 0},
		"full": {func(t *testing.T, file *os.File) {
			t.Helper()
			for i := range 4 {
				mustWriteAt(t, file, block, int64(i)*mib)
			}
		}, 4 * mib, 4 * mib},
		"odd size": {func(t *testing.T, file *os.File) {
			t.Helper()
			mustWriteAt(t, file, block[:12345], 0)
		}, 12345, 12345},
		"sparse": {func(t *testing.T, file *os.File) {
			t.Helper()
			must(t, file.Truncate(64*mib))
		}, 64 * mib, 0},
		"partly written": {func(t *testing.T, file *os.File) {
			t.Helper()
			must(t, file.Truncate(16*mib))
			mustWriteAt(t, file, block, 2*mib)
			mustWriteAt(t, file, block, 9*mib)
		}, 16 * mib, 2 * mib},
		"fallocated": {func(t *testing.T, file *os.File) {
			t.Helper()
			must(t, unix.Fallocate(int(file.Fd()), 0, 0, 8*mib))
		}, 8 * mib, 0},
		"fallocated, partly written": {func(t *testing.T, file *os.File) {
			t.Helper()
			must(t, unix.Fallocate(int(file.Fd()), 0, 0, 8*mib))
			mustWriteAt(t, file, block, 3*mib)
		}, 8 * mib, mib},
		"fallocated beyond the end": {func(t *testing.T, file *os.File) {
			t.Helper()
			must(t, unix.Fallocate(int(file.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, 8*mib))
			mustWriteAt(t, file, block, 0)
		}, mib, mib},
	}
	for name, test := range tests {
		for _, synced := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				file, err := os.Create(filepath.Join(d.Path(), "f"))
				must(t, err)
				test.make(t, file)
				if synced {
					must(t, file.Sync())
				}
				must(t, file.Close())
				got, err := d.Written("f")
				must(t, err)
				if got.ApparentBytes != test.apparent || got.WrittenBytes != test.written {
					t.Errorf("synced %t: got %+v, want %d of %d", synced, got, test.written, test.apparent)
				}
				if got.Complete() != (test.written == test.apparent) {
					t.Errorf("complete %t with %+v", got.Complete(), got)
				}
			})
		}
	}
}

// TestCoverageOf checks how much of a file counts as written, by file system. Lustre over ZFS, for example, reports 1
// MiB for 4 MiB that compress 4:1, which must not count as a hole.
func TestCoverageOf(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		magic                  uint32
		version                string
		seeks                  bool
		apparent, blocks, data uint64
		written                uint64
		source                 Source
	}{
		"ext4, whole":                 {unix.EXT4_SUPER_MAGIC, "", true, 4 * mib, 4 * mib, 4 * mib, 4 * mib, SourceExtents},
		"ext4, reserved":              {unix.EXT4_SUPER_MAGIC, "", true, 4 * mib, 4 * mib, mib, mib, SourceExtents},
		"zfs, compressed":             {zfsMagic, "", true, 4 * mib, mib, 4 * mib, 4 * mib, SourceExtents},
		"lustre, compressed":          {lustreMagic, "", true, 4 * mib, mib, 4 * mib, 4 * mib, SourceBelieved},
		"an old lustre":               {lustreMagic, "", false, 4 * mib, mib, 0, 4 * mib, SourceBelieved},
		"lustre with a hole":          {lustreMagic, "", true, 4 * mib, mib, 3 * mib, 3 * mib, SourceExtents},
		"lustre, nothing there":       {lustreMagic, "", true, 4 * mib, 0, 4 * mib, 0, SourceBlocks},
		"nfs, whole":                  {unix.NFS_SUPER_MAGIC, "", true, 4 * mib, 4 * mib, 4 * mib, 4 * mib, SourceBlocks},
		"nfs, holes or compressed":    {unix.NFS_SUPER_MAGIC, "", true, 4 * mib, mib, 4 * mib, mib, SourceBlocks},
		"nfs 4.2, compressed or late": {unix.NFS_SUPER_MAGIC, "vers=4.2", true, 4 * mib, 512, 4 * mib, 4 * mib, SourceBelieved},
		"nfs 4.2 with a hole":         {unix.NFS_SUPER_MAGIC, "vers=4.2", true, 4 * mib, mib, mib, mib, SourceExtents},
		"nfs 4.1":                     {unix.NFS_SUPER_MAGIC, "vers=4.1", true, 4 * mib, mib, 4 * mib, mib, SourceBlocks},
		"fuse without seeking":        {unix.FUSE_SUPER_MAGIC, "", false, 4 * mib, 5 * mib, 0, 4 * mib, SourceBlocks},
	}
	for name, test := range tests {
		got := coverageOf(test.magic, test.seeks, Mount{Options: []string{"rw", test.version}}.reportsHoles(test.magic), test.apparent, test.blocks, test.data)
		if got.WrittenBytes != test.written || got.Source != test.source || got.BlockBytes != test.blocks || got.ApparentBytes != test.apparent {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestLateness(t *testing.T) {
	t.Parallel()
	for options, want := range map[string]time.Duration{
		"ext4 rw,relatime":                        0,
		"cifs rw,vers=3.1.1,cache=strict":         3 * time.Second,
		"cifs rw,actimeo=1,closetimeo=1":          3 * time.Second,
		"smb3 rw,actimeo=30,closetimeo=1":         32 * time.Second,
		"cifs rw,acregmax=5,acdirmax=60":          7 * time.Second,
		"cifs rw,actimeo=86400":                   mostLateness,
		"cifs rw,actimeo=0,closetimeo=0":          time.Second,
		"cifs rw,actimeo=nonsense":                3 * time.Second,
		"nfs4 rw,vers=4.1,acregmin=3,acregmax=60": usualLateness,
		"fuse.burstfs rw":                         usualLateness,
	} {
		kind, rest, _ := strings.Cut(options, " ")
		if got := (Mount{FilesystemType: kind, Options: strings.Split(rest, ",")}).Lateness(); got != want {
			t.Errorf("%s: %s, want %s", options, got, want)
		}
	}
}

func TestLocalLocks(t *testing.T) {
	t.Parallel()
	for options, want := range map[string]bool{
		"rw,vers=3.1.1,cache=strict,actimeo=1": false, "rw,vers=3.1.1,nobrl": true, "rw,vers=4.2,local_lock=none": false,
		"rw,vers=3,nolock,local_lock=all": true, "rw,vers=3,local_lock=flock": true, "rw,vers=3,local_lock=posix": false, "rw,localflock": true,
	} {
		if got := localLocks(strings.Split(options, ",")); got != want {
			t.Errorf("%s: %t", options, got)
		}
	}
}

func mustWriteAt(t *testing.T, file *os.File, data []byte, offset int64) {
	t.Helper()
	if _, err := file.WriteAt(data, offset); err != nil {
		t.Fatal(err)
	}
}

func TestFileNamesStayInside(t *testing.T) {
	path := t.TempDir()
	d := mustCreate(t, path, 0)
	mustWrite(t, filepath.Join(path, "outside"), "x")
	mustWrite(t, filepath.Join(d.Path(), "sub/f"), "four")
	must(t, os.Symlink(filepath.Join(path, "outside"), filepath.Join(d.Path(), "link")))
	must(t, os.Symlink("sub", filepath.Join(d.Path(), "dirlink")))
	must(t, unix.Mkfifo(filepath.Join(d.Path(), "pipe"), 0o644))

	if got, err := d.Written("sub/f"); err != nil || got.WrittenBytes != 4 {
		t.Errorf("sub/f: %+v, %v", got, err)
	}
	if _, err := d.Written("none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("none: %v", err)
	}
	refused := map[string]error{
		"../client-0/sub/f": ErrBadName, "/etc/passwd": ErrBadName, "": ErrBadName, ".": ErrBadName, "sub/../sub/f": ErrBadName,
		"link": ErrForeign, "sub": ErrForeign, "pipe": ErrForeign, "dirlink/f": ErrSymlink,
	}
	for name, want := range refused {
		if _, err := d.Written(name); !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", name, err, want)
		}
		if err := d.DropCache(name); !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", name, err, want)
		}
	}
}

func TestDropCache(t *testing.T) {
	path := t.TempDir()
	if mustProve(t, path).FilesystemType == "tmpfs" {
		t.Skip("a tmpfs is the cache")
	}
	d := mustCreate(t, path, 0)
	must(t, os.WriteFile(filepath.Join(d.Path(), "f"), make([]byte, 3*mib+5), 0o600))
	if cached, err := d.CachedBytes("f"); err != nil || cached != 3*mib+5 {
		t.Fatalf("after writing: %d, %v", cached, err)
	}
	must(t, d.DropCache("f"))
	if cached, err := d.CachedBytes("f"); err != nil || cached != 0 {
		t.Errorf("after dropping: %d, %v", cached, err)
	}
}

// TestCachedBytesOfOthers checks that the number of cached bytes is unknown if the user neither owns the file nor may
// write to it: the kernel then reports all pages as cached.
func TestCachedBytesOfOthers(t *testing.T) {
	withoutRoot(t, func() {
		file, err := os.Open("/etc/passwd")
		must(t, err)
		defer func() { _ = file.Close() }()
		if cached, err := residentBytes(file); err == nil {
			t.Errorf("%d bytes are reported as cached", cached)
		}
	})
}
