package leader

import (
	"context"
	"sync"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// lock wraps the lock of the election to detect that another process has taken the Lease. The election itself tries to
// renew the Lease until RenewDeadline. That is right if the API server cannot be reached, but pointless if another
// process holds the Lease.
//
// A lock is not safe for concurrent use; the election calls it from one goroutine.
type lock struct {
	*resourcelock.LeaseLock
	held bool
	lost func()
}

func newLock(lease *resourcelock.LeaseLock) (*lock, <-chan struct{}) {
	lost := make(chan struct{})
	return &lock{LeaseLock: lease, lost: sync.OnceFunc(func() { close(lost) })}, lost
}

// Get reads the Lease, and closes the channel of Candidate.Lost if another process has taken it.
func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.LeaseLock.Get(ctx)
	if err == nil && l.held && record.HolderIdentity != "" && record.HolderIdentity != l.Identity() {
		l.lost()
	}
	return record, raw, err
}

// Create creates the Lease with this process as its holder.
func (l *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.wrote(record, l.LeaseLock.Create(ctx, record))
}

// Update acquires, renews or releases the Lease.
func (l *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.wrote(record, l.LeaseLock.Update(ctx, record))
}

func (l *lock) wrote(record resourcelock.LeaderElectionRecord, err error) error {
	if err == nil {
		l.held = record.HolderIdentity == l.Identity()
	}
	return err
}
