package dataset

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// restFor is the time without a change after which the allocated space counts as settled. ZFS updates the space when
	// it commits a transaction group, at least every five seconds.
	restFor = 5500 * time.Millisecond
	// lookAgain is the interval between two measurements of the disk usage.
	lookAgain = 250 * time.Millisecond
)

// SettledUsage returns the disk usage of the directory's files, and waits until the file system's figures are final.
// They are final immediately if they include data that is not flushed yet, or if no file occupies less space than its
// data. Otherwise files may occupy less space because they are compressed or because the file system updates its
// figures late. SettledUsage then syncs these files and repeats the measurement until nothing has changed for longer
// than ZFS needs for an update. If that takes longer than patience, the result is not Settled. If patience is 0,
// SettledUsage does not wait.
func (d *Dataset) SettledUsage(ctx context.Context, maxFiles int, patience time.Duration) (Usage, error) {
	found, short, err := d.usage(ctx, maxFiles)
	if err != nil || found.Settled || patience <= 0 || reportsNoSpace(d.mount.FilesystemType, found) {
		return found, err
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if !d.writeOut(waiting, short) {
		return found, ctx.Err()
	}
	return awaitSettled(waiting, found, func() (Usage, error) {
		again, _, err := d.usage(ctx, maxFiles)
		return again, err
	})
}

// awaitSettled measures the disk usage repeatedly until it has been unchanged for restFor, or until the context
// `waiting` is done.
func awaitSettled(waiting context.Context, found Usage, look func() (Usage, error)) (Usage, error) {
	since := time.Now()
	for {
		again, err := look()
		if err != nil {
			return Usage{}, err
		}
		if again.Space != found.Space {
			since = time.Now()
		}
		if found = again; found.Settled {
			return found, nil
		}
		if time.Since(since) >= restFor {
			found.Settled = true
			return found, nil
		}
		select {
		case <-waiting.Done():
			return found, nil
		case <-time.After(lookAgain):
		}
	}
}

// writeOut syncs files, and reports whether it finished before ctx was done. It does not wait for a hanging sync.
func (d *Dataset) writeOut(ctx context.Context, files []string) bool {
	done := make(chan bool, 1)
	go func() {
		for _, name := range files {
			file, err := d.open(name)
			if err != nil {
				continue // skip a file that was removed or is no longer a regular file
			}
			err = unix.Fsync(int(file.Fd()))
			_ = file.Close()
			if err != nil || ctx.Err() != nil {
				done <- false
				return
			}
		}
		done <- true
	}()
	select {
	case written := <-done:
		return written
	case <-ctx.Done():
		return false
	}
}
