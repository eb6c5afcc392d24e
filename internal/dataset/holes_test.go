package dataset

import (
	"testing"

	"golang.org/x/sys/unix"
)

// The probe detects holes and leaves no file.
func TestShowsHoles(t *testing.T) {
	d := mustCreate(t, t.TempDir(), 0)
	if !d.probeHoles() {
		t.Error("the temporary directory tells no holes")
	}
	if empty, err := d.Empty(); err != nil || !empty {
		t.Errorf("something stays: empty %t, %v", empty, err)
	}
	root, err := openPath("/proc/sys")
	must(t, err)
	defer root.close()
	if probeHole(root) {
		t.Error("what cannot be written shows holes")
	}
}

// If a file system reports holes, a file that is reported as all data counts as written, however little space it
// uses.
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
