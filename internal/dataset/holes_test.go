package dataset

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestShowsHoles checks that the probe detects that a file system reports holes, and that it leaves no file behind.
func TestShowsHoles(t *testing.T) {
	d := mustCreate(t, t.TempDir(), 0)
	if !d.probeHoles() {
		t.Error("the temporary directory reports no holes")
	}
	if empty, err := d.Empty(); err != nil || !empty {
		t.Errorf("the probe leaves a file: empty %t, %v", empty, err)
	}
	root, err := openPath("/proc/sys")
	must(t, err)
	defer root.close()
	if probeHole(root) {
		t.Error("a file system that cannot be written reports holes")
	}
}

// TestCompressedBehindFUSE checks that a file that a hole-reporting file system reports as all data counts as written,
// however little space it uses.
func TestCompressedBehindFUSE(t *testing.T) {
	for name, test := range map[string]struct {
		shows   bool
		written uint64
		source  Source
	}{
		"shows holes":   {true, 4 * mib, SourceBelieved},
		"shows no hole": {false, mib, SourceBlocks},
	} {
		got := coverageOf(unix.FUSE_SUPER_MAGIC, true, test.shows, 4*mib, mib, 4*mib)
		if got.WrittenBytes != test.written || got.Source != test.source {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
