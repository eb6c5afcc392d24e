package leader

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// LeaseName is the name of the Lease, in the operator's namespace.
const LeaseName = "storagebench-operator"

// Timing of the leader election. A leader that dies is replaced after LeaseDuration; meanwhile the agents continue
// their current step. A leader that cannot renew the Lease for RenewDeadline exits, well before another operator may
// take over.
const (
	LeaseDuration = 15 * time.Second
	RenewDeadline = 10 * time.Second
	RetryPeriod   = 2 * time.Second
)

// requestTimeout keeps a single hanging request from using up RenewDeadline.
const requestTimeout = RenewDeadline / 2

// ErrNotLeader is wrapped by the error that Epoch returns if this process does not hold the Lease.
var ErrNotLeader = errors.New("this process is not the leader")

// Candidate takes part in the leader election on behalf of this process.
type Candidate struct {
	identity string
	leases   coordinationclient.LeaseInterface
	lock     *lock
	lost     <-chan struct{}

	mutex sync.Mutex
	term  term
	epoch uint64
}

// term identifies a period in which one process held the Lease, by the Lease's UID and its leaseTransitions, which
// counts changes of the holder.
type term struct {
	lease       types.UID
	transitions int32
}

// New returns a candidate with a unique identity: a process that restarts on the same host is a different candidate.
// namespace is the operator's namespace.
func New(config *rest.Config, namespace string) (*Candidate, error) {
	if namespace == "" {
		return nil, errors.New("the namespace of the Lease is empty: set the operator's namespace")
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("get the host name for leader election: %w", err)
	}
	// Use a separate API client, so that renewals do not wait for the rate limit or the connection of other requests.
	config = rest.AddUserAgent(rest.CopyConfig(config), "leader-election")
	config.Timeout = requestTimeout
	leases, err := coordinationclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create a client for leader election: %w", err)
	}
	c := &Candidate{identity: host + "_" + rand.Text(), leases: leases.Leases(namespace)}
	c.lock, c.lost = newLock(&resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: LeaseName},
		Client:     leases,
		LockConfig: resourcelock.ResourceLockConfig{Identity: c.identity},
	})
	return c, nil
}

// Identity returns the holder identity that the Lease contains while this candidate leads.
func (c *Candidate) Identity() string { return c.identity }

// Lock returns the lock for the manager's election. It must be used in one election only.
func (c *Candidate) Lock() resourcelock.Interface { return c.lock }

// Lost returns a channel that is closed if another process takes over the Lease. This process must then exit. A
// takeover happens only if this process was paused for too long.
func (c *Candidate) Lost() <-chan struct{} { return c.lost }

// Epoch asks the API server, not a cache, who leads now. It returns the epoch of this process's term, an error that
// wraps ErrNotLeader, or the error of the API server.
func (c *Candidate) Epoch(ctx context.Context) (uint64, error) {
	// Serialize the calls, so that concurrent calls at the start of a term return the same epoch.
	c.mutex.Lock()
	defer c.mutex.Unlock()
	lease, err := c.leases.Get(ctx, c.lock.LeaseMeta.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return 0, fmt.Errorf("%w: Lease %s does not exist", ErrNotLeader, c.lock.Describe())
	case err != nil:
		return 0, fmt.Errorf("get Lease %s for the leader's epoch: %w", c.lock.Describe(), err)
	}
	if holder := holderOf(lease); holder != c.identity {
		return 0, fmt.Errorf("%w: Lease %s is held by %q, not by this process (%q)", ErrNotLeader, c.lock.Describe(), holder, c.identity)
	}
	now := term{lease: lease.UID}
	if lease.Spec.LeaseTransitions != nil {
		now.transitions = *lease.Spec.LeaseTransitions
	}
	if now == c.term {
		return c.epoch, nil
	}
	version, err := strconv.ParseUint(lease.ResourceVersion, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the resourceVersion %q of Lease %s is not a number, "+
			"so new leaders cannot be distinguished from old ones; use a conformant API server: %w",
			lease.ResourceVersion, c.lock.Describe(), err)
	}
	c.term, c.epoch = now, version
	return version, nil
}

func holderOf(lease *coordinationv1.Lease) string {
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}
