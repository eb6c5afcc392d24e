package dataset

import (
	"context"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// lookAgainWritten is the interval between two checks of a file.
	lookAgainWritten = 100 * time.Millisecond
	// usualLateness is the assumed maximum age of cached attributes on file systems other than SMB. It equals the value
	// for SMB with default options: one second of attribute cache, one second until the server learns that a file was
	// closed, and one second of margin.
	usualLateness = 3 * time.Second
	// mostLateness limits the age that is derived from the mount options. It exceeds the 30 s that azurefile-csi-driver
	// sets.
	mostLateness = 35 * time.Second
)

// Lateness returns the maximum age of the file attributes that this machine reports. It is 0 for local file systems.
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

// seconds returns the largest value of the mount options with the given names. If none of them is set, it returns the
// usual value.
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

// Settled is like Written for a file whose size is known, but allows for outdated cached attributes. It first flushes
// data that has not reached the server yet. It then repeats the measurement while the result is Doubtful, or while a
// network file system reports fewer bytes than expected, but only until ctx is done.
func (d *Dataset) Settled(ctx context.Context, name string, bytes uint64) (Coverage, error) {
	for flushed := false; ; {
		// Each attempt reopens the file, which makes some file systems query the server.
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

// flush writes this machine's dirty pages of a file to the storage. Not every file system supports that with a file
// opened for reading.
func (d *Dataset) flush(name string) {
	file, err := d.open(name)
	if err != nil {
		return
	}
	_ = unix.Fsync(int(file.Fd()))
	_ = file.Close()
}
