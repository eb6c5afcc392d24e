package dataset

import (
	"context"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// lookAgainWritten is the time between two looks at a file.
	lookAgainWritten = 100 * time.Millisecond
	// usualLateness is how late attributes are where the mount's options do not say: SMB's defaults are one second of cache
	// and one second until a file that was closed is closed at the server.
	usualLateness = 3 * time.Second
	// mostLateness bounds what options may say: azurefile-csi-driver sets 30 s.
	mostLateness = 35 * time.Second
)

// Lateness is how long this machine may report old attributes of files; 0 for file systems of its own.
func (m Mount) Lateness() time.Duration {
	if m.OnThisMachine() {
		return 0
	}
	late := usualLateness
	if m.FilesystemType == "cifs" || m.FilesystemType == "smb3" {
		late = m.seconds(1, "actimeo", "acregmax") + m.seconds(1, "closetimeo") + time.Second
	}
	return min(late, mostLateness)
}

// seconds is the longest of some options of a mount; usual where none is set.
func (m Mount) seconds(usual int, names ...string) time.Duration {
	longest := -1
	for _, option := range m.Options {
		for _, name := range names {
			text, found := strings.CutPrefix(option, name+"=")
			if value, err := strconv.Atoi(text); found && err == nil {
				longest = max(longest, value)
			}
		}
	}
	if longest < 0 {
		longest = usual
	}
	return time.Duration(min(longest, 3600)) * time.Second
}

// Settled is Written of a file that should have some bytes, once the attribute cache has had its time: it looks again
// while the file is short and that proves nothing, until the context ends. What is not on the server yet is sent there.
func (d *Dataset) Settled(ctx context.Context, name string, bytes uint64) (Coverage, error) {
	for flushed := false; ; {
		// Each look opens the file anew: that is what some file systems ask the server for.
		coverage, err := d.Written(name)
		short := coverage.Doubtful || coverage.ApparentBytes < bytes && !d.mount.OnThisMachine()
		if err != nil || !short {
			return coverage, err
		}
		if !flushed {
			flushed = true
			d.flush(name)
			continue
		}
		select {
		case <-ctx.Done():
			return d.Written(name)
		case <-time.After(lookAgainWritten):
		}
	}
}

// flush sends what this machine holds of a file to where it belongs. Not every file system can from a handle for reading.
func (d *Dataset) flush(name string) {
	file, err := d.open(name)
	if err != nil {
		return
	}
	_ = unix.Fsync(int(file.Fd()))
	_ = file.Close()
}
