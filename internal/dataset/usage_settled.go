package dataset

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// restFor is how long what is allocated must stand still to count as settled. ZFS tells what it has
	// allocated when it commits a group of transactions, which it does every five seconds at the latest.
	restFor = 5500 * time.Millisecond
	// lookAgain is the time between two looks.
	lookAgain = 250 * time.Millisecond
)

// SettledUsage counts what the directory's files take once the file system has made up its mind. That is at
// once on file systems that count what they have not allocated yet, and wherever no less is allocated than
// there is data. Elsewhere files may take less since they are compressed, or since the file system tells it late:
// they are written out and looked at until nothing has changed for longer than ZFS takes, or until patience
// is over. Then the usage is not Settled. It waits for nothing where patience is 0.
func (d *Dataset) SettledUsage(ctx context.Context, maxFiles int, patience time.Duration) (Usage, error) {
	found, short, err := d.usage(ctx, maxFiles)
	if err != nil || found.Settled || patience <= 0 || answersNothing(d.mount.FilesystemType, found) {
		return found, err
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if !d.writeOut(waiting, short) {
		return found, ctx.Err()
	}
	return rest(waiting, found, func() (Usage, error) {
		again, _, err := d.usage(ctx, maxFiles)
		return again, err
	})
}

// rest looks until nothing has changed for restFor, or until waiting is over.
func rest(waiting context.Context, found Usage, look func() (Usage, error)) (Usage, error) {
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

// writeOut has files written out, and reports whether it was done when the context ended. A write that hangs
// is left to itself.
func (d *Dataset) writeOut(ctx context.Context, files []string) bool {
	done := make(chan bool, 1)
	go func() {
		for _, name := range files {
			file, err := d.open(name)
			if err != nil {
				continue // It is gone, or is no file any more.
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
