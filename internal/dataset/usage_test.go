package dataset

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

func mustPut(t *testing.T, path string, size int) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	data := make([]byte, size)
	_, _ = rand.Read(data)
	must(t, os.WriteFile(path, data, 0o600))
}

func mustUse(t *testing.T, d *Dataset) Usage {
	t.Helper()
	found, _, err := d.usage(t.Context(), MaxUsageFiles)
	must(t, err)
	return found
}

func TestUsage(t *testing.T) {
	d := mustCreate(t, t.TempDir(), 0)
	outside := filepath.Join(t.TempDir(), "outside.bin")
	mustPut(t, outside, 8*mib)
	mustPut(t, filepath.Join(d.Path(), "data.0.0"), mib)
	mustPut(t, filepath.Join(d.Path(), "data.00000012"), mib)
	mustPut(t, filepath.Join(d.Path(), "a/b/scene.EXR"), 3*mib)
	mustPut(t, filepath.Join(d.Path(), "a/other.exr"), mib)
	mustPut(t, filepath.Join(d.Path(), ".hidden"), 4096)
	mustPut(t, filepath.Join(d.Path(), "text.\x1b[31m"), 4096)
	must(t, os.Link(filepath.Join(d.Path(), "a/other.exr"), filepath.Join(d.Path(), "a/again.exr")))
	must(t, os.Symlink(outside, filepath.Join(d.Path(), "leads.out")))
	must(t, os.Symlink(filepath.Dir(outside), filepath.Join(d.Path(), "folder")))
	must(t, unix.Mkfifo(filepath.Join(d.Path(), "pipe.exr"), 0o600))

	found := mustUse(t, d)
	if found.Files != 6 || found.ApparentBytes != 6*mib+2*4096 || found.AllocatedBytes < found.ApparentBytes || !found.Settled {
		t.Errorf("got %+v", found)
	}
	if len(found.Types) != 2 || found.Types[0].Extension != "exr" || found.Types[0].ApparentBytes != 4*mib || found.Types[0].Files != 2 ||
		found.Types[1].Extension != "" || found.Types[1].ApparentBytes != 2*mib+2*4096 || found.Types[1].Files != 4 {
		t.Errorf("by type: %+v", found.Types)
	}
}

func TestUsageOfAHole(t *testing.T) {
	d := mustCreate(t, t.TempDir(), 0)
	file, err := os.Create(filepath.Join(d.Path(), "sparse"))
	must(t, err)
	must(t, file.Truncate(64*mib))
	mustWriteAt(t, file, make([]byte, mib), 7*mib)
	must(t, file.Close())
	found := mustUse(t, d)
	if found.ApparentBytes != 64*mib || found.DataBytes != mib || found.AllocatedBytes != mib || !found.HolesKnown {
		t.Errorf("got %+v, of which 1 MiB is data", found)
	}
	// The result is the same on a file system that may compress, where the search for holes is needed.
	d.mount.FilesystemType = "zfs"
	found = mustUse(t, d)
	if found.DataBytes != mib || !found.HolesKnown || !found.Settled {
		t.Errorf("got %+v, of which 1 MiB is data", found)
	}
}

func TestUsageIsBounded(t *testing.T) {
	d := mustCreate(t, t.TempDir(), 0)
	for i := range 20 {
		mustPut(t, filepath.Join(d.Path(), fmt.Sprintf("f.%c", 'a'+i)), 4096*(i+1))
	}
	if _, _, err := d.usage(t.Context(), 19); !errors.Is(err, ErrTooMuch) {
		t.Errorf("20 files where 19 are looked at: %v", err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := d.usage(over, 20); !errors.Is(err, context.Canceled) {
		t.Errorf("no time is left: %v", err)
	}
	found := mustUse(t, d)
	last := found.Types[len(found.Types)-1]
	if len(found.Types) != maxTypes || last.Extension != OtherTypes || last.Files != 5 || last.ApparentBytes != 4096*(1+2+3+4+5) {
		t.Errorf("20 types: %+v", found.Types)
	}
	deep := d.Path()
	for range maxDepth + 1 {
		deep = filepath.Join(deep, "d")
	}
	must(t, os.MkdirAll(deep, 0o755))
	if _, _, err := d.usage(t.Context(), MaxUsageFiles); !errors.Is(err, ErrTooMuch) {
		t.Errorf("%d levels: %v", maxDepth+1, err)
	}
}

func TestExtension(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"data.0.0": "", "testFile.00000001": "", "a.EXR": "exr", "a.mp4": "mp4", "a.tar.gz": "gz", ".bashrc": "", "a.": "", "a": "",
		"a.7z": "7z", "a.ä": "", "a.b c": "", "a.averylongextensionindeed": "", "..x": "", "a.1_2": "1_2",
	} {
		if got := extension(name); got != want {
			t.Errorf("%q is of type %q, want %q", name, got, want)
		}
	}
}

// TestRest checks that the disk usage counts as settled once it has stopped growing. A file system may report
// allocations late: none at first, then one transaction group at a time.
func TestRest(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		patience time.Duration
		// allocated is the reported number of bytes in each second.
		allocated []uint64
		settled   bool
		want      uint64
		// looks is the expected number of measurements: two at once, then four per second.
		looks int
	}{
		"compressed, still":      {8 * time.Second, []uint64{50}, true, 50, 2 + 22},
		"told after 5 s":         {12 * time.Second, []uint64{1, 1, 1, 1, 1, 50}, true, 50, 2 + 20 + 22},
		"told after 5 s, short":  {8*time.Second + lookAgain/2, []uint64{1, 1, 1, 1, 1, 50}, false, 50, 2 + 32},
		"all of it is allocated": {8 * time.Second, []uint64{1, 1, 100}, true, 100, 2 + 8},
		"it never rests":         {8*time.Second + lookAgain/2, []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, false, 9, 2 + 32},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun, looks := time.Now(), 0
				look := func() (Usage, error) {
					looks++
					at := min(int(time.Since(begun)/time.Second), len(test.allocated)-1) //nolint:forbidigo // virtual time
					allocated := test.allocated[at]
					return Usage{Space: Space{DataBytes: 100, AllocatedBytes: allocated}, Settled: allocated >= 100}, nil
				}
				first, _ := look()
				ctx, cancel := context.WithTimeout(t.Context(), test.patience)
				defer cancel()
				found, err := awaitSettled(ctx, first, look)
				if err != nil || found.Settled != test.settled || found.AllocatedBytes != test.want || looks != test.looks {
					t.Errorf("got %+v after %d looks, want %d: %v", found, looks, test.looks, err)
				}
			})
		})
	}
}

// TestUsageOnRealFileSystems checks on real file systems that disk usage includes data that is not flushed yet, and
// that each file system is known to hide compression or to have none. Each is created in a file and mounted; those
// without an mkfs program on this machine are skipped.
func TestUsageOnRealFileSystems(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can mount them")
	}
	withMounts(t, func() {
		for _, made := range []struct {
			make    []string
			options string
			want    Compression
		}{
			{[]string{"mkfs.ext4", "-q"}, "loop", CompressionNone},
			{[]string{"mkfs.xfs", "-q"}, "loop", CompressionNone},
			{[]string{"mkfs.btrfs", "-q"}, "loop", CompressionHidden},
			{[]string{"mkfs.btrfs", "-q"}, "loop,compress=zstd", CompressionHidden},
		} {
			t.Run(made.make[0]+" "+made.options, func(t *testing.T) {
				d := mountMade(t, made.make, made.options)
				if got := d.mount.Compression(); got != made.want {
					t.Errorf("%s: %s, want %s", d.mount.FilesystemType, got, made.want)
				}
				must(t, os.WriteFile(filepath.Join(d.Path(), "text"), slices.Repeat([]byte("the same again! "), 8*mib/16), 0o600))
				mustPut(t, filepath.Join(d.Path(), "noise"), 8*mib)
				before := mustUse(t, d)
				unix.Sync()
				after := mustUse(t, d)
				if !before.Settled || before.Space != after.Space || after.ApparentBytes != 16*mib {
					t.Errorf("%+v before the flush and %+v after it", before, after)
				}
				// Half of the data is repetitive, but none of these file systems reports the space that compression saves.
				if after.AllocatedBytes < 16*mib || after.AllocatedBytes > 17*mib {
					t.Errorf("16 MiB take %d bytes", after.AllocatedBytes)
				}
			})
		}
	})
}

// A sync that ends after its context does not count as written out. Missing files are skipped.
func TestWriteOutInTime(t *testing.T) {
	d := mustCreate(t, t.TempDir(), 0)
	mustWrite(t, filepath.Join(d.Path(), "data"), "x")
	if !d.writeOut(t.Context(), []string{"data", "missing"}) {
		t.Error("the files were not synced")
	}
	late, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		if d.writeOut(late, []string{"data"}) {
			t.Fatal("a sync after its time counts")
		}
	}
}
