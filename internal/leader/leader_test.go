package leader

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/go-logr/logr"

	"github.com/storagebench/storagebench/test/controlplane"
	"github.com/storagebench/storagebench/test/hang"
)

// api is the only API server of this package. It is nil with -short.
var api *rest.Config

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	controlplane.Main(m, func(administrator *rest.Config) (int, error) {
		api = administrator
		return m.Run(), nil
	})
}

// Timing of the elections in these tests. The first two are half of the real values, so that a disk that stalls for
// some seconds does not cost the leader its Lease; retries are more frequent.
var (
	leaseDuration = LeaseDuration / 2
	renewDeadline = RenewDeadline / 2
	retryPeriod   = RetryPeriod / 10
)

func namespace(t *testing.T) string {
	t.Helper()
	if api == nil {
		t.Skip("needs an API server, which -short leaves out")
	}
	made, err := kubernetes.NewForConfigOrDie(api).CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "leader-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made.Name
}

// operator is a manager that takes part in the election.
type operator struct {
	*Candidate
	elected <-chan struct{}
	// stop ends the operator. It releases the Lease if start was called with release. Otherwise it simulates a crash.
	stop func()
	err  chan error
}

func start(t *testing.T, namespace string, release bool) *operator {
	t.Helper()
	candidate, err := New(api, namespace)
	if err != nil {
		t.Fatal(err)
	}
	mgr, err := ctrl.NewManager(api, ctrl.Options{
		LeaderElection:                      true,
		LeaderElectionResourceLockInterface: candidate.Lock(),
		LeaderElectionReleaseOnCancel:       release,
		LeaseDuration:                       &leaseDuration,
		RenewDeadline:                       &renewDeadline,
		RetryPeriod:                         &retryPeriod,
		Metrics:                             metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	o := &operator{Candidate: candidate, elected: mgr.Elected(), err: make(chan error, 1)}
	go func() { o.err <- mgr.Start(ctx) }()
	o.stop = sync.OnceFunc(func() {
		cancel()
		<-o.err //nolint:errcheck // who cares how it ends looks before
	})
	t.Cleanup(o.stop)
	return o
}

func (o *operator) leads(t *testing.T) uint64 {
	t.Helper()
	select {
	case <-o.elected:
	case <-time.After(hang.Guard):
		t.Fatal("does not become the leader")
	}
	epoch, err := o.Epoch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return epoch
}

func (o *operator) doesNotLead(t *testing.T) {
	t.Helper()
	if epoch, err := o.Epoch(t.Context()); !errors.Is(err, ErrNotLeader) {
		t.Fatalf("got epoch %d and %v, want ErrNotLeader", epoch, err)
	}
}

func lease(t *testing.T, namespace string) *coordinationv1.Lease {
	t.Helper()
	found, err := kubernetes.NewForConfigOrDie(api).CoordinationV1().Leases(namespace).Get(t.Context(), LeaseName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func removeLease(t *testing.T, namespace string) {
	t.Helper()
	err := kubernetes.NewForConfigOrDie(api).CoordinationV1().Leases(namespace).Delete(t.Context(), LeaseName, metav1.DeleteOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func TestOfTwoOperatorsOneLeadsAndTheNextIsHigher(t *testing.T) {
	t.Parallel()
	space := namespace(t)
	first := start(t, space, true)
	before := first.leads(t)
	second := start(t, space, true)
	second.doesNotLead(t)

	transitions := *lease(t, space).Spec.LeaseTransitions
	first.stop()
	after := second.leads(t)
	first.doesNotLead(t)
	for _, one := range []*operator{first, second} {
		select {
		case <-one.Lost():
			t.Error("an orderly change counts as a loss")
		default:
		}
	}
	if after <= before {
		t.Errorf("the second leader has epoch %d, the first had %d", after, before)
	}
	if now := *lease(t, space).Spec.LeaseTransitions; now <= transitions {
		t.Errorf("transitions went from %d to %d: the Lease was not handed over", transitions, now)
	}
}

// TestEpochStaysWhileTheLeaderRenews checks that renewing the Lease does not change the epoch. A leader sends commands
// concurrently, and all must carry the same epoch.
func TestEpochStaysWhileTheLeaderRenews(t *testing.T) {
	t.Parallel()
	space := namespace(t)
	leader := start(t, space, true)
	first := leader.leads(t)
	version := lease(t, space).ResourceVersion
	hang.Until(t, "the Lease is renewed", func() bool { return lease(t, space).ResourceVersion != version })
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if epoch, err := leader.Epoch(t.Context()); err != nil || epoch != first {
				t.Errorf("the epoch is %d (%v), was %d", epoch, err, first)
			}
		})
	}
	group.Wait()
}

// TestDeletedUnderTheLeader checks that a leader whose Lease is deleted creates it again with a higher epoch.
func TestDeletedUnderTheLeader(t *testing.T) {
	t.Parallel()
	space := namespace(t)
	leader := start(t, space, true)
	before := leader.leads(t)
	old := lease(t, space).UID
	removeLease(t, space)
	hang.Until(t, "the leader makes the Lease anew", func() bool {
		_, err := leader.Epoch(t.Context())
		return err == nil && lease(t, space).UID != old
	})
	if after := leader.leads(t); after <= before {
		t.Errorf("epoch %d after the Lease was deleted, %d before", after, before)
	}
}

// TestDeletedBetweenTwoLeaders checks that the epoch increases even if the Lease is deleted between two leaders, which
// resets its transitions to 0. Agents still know the epoch of the old leader.
func TestDeletedBetweenTwoLeaders(t *testing.T) {
	t.Parallel()
	space := namespace(t)
	var before uint64
	for range 3 {
		leader := start(t, space, true)
		before = leader.leads(t)
		leader.stop()
	}
	if count := *lease(t, space).Spec.LeaseTransitions; count < 2 {
		t.Fatalf("the Lease counts %d transitions: the test proves nothing", count)
	}
	removeLease(t, space)
	after := start(t, space, true).leads(t)
	if count := *lease(t, space).Spec.LeaseTransitions; count != 0 {
		t.Errorf("the new Lease counts %d transitions: this test is about 0", count)
	}
	if after <= before {
		t.Errorf("epoch %d after the Lease was deleted, %d before", after, before)
	}
}

// TestFollowsALeaderThatDied checks that an operator that stops without releasing its Lease, for example because it was
// killed, is replaced when the Lease expires.
func TestFollowsALeaderThatDied(t *testing.T) {
	t.Parallel()
	space := namespace(t)
	first := start(t, space, false)
	before := first.leads(t)
	second := start(t, space, false)
	first.stop()
	if holder := *lease(t, space).Spec.HolderIdentity; holder != first.Identity() {
		t.Fatalf("the Lease is held by %q: it was released", holder)
	}
	if after := second.leads(t); after <= before {
		t.Errorf("the second leader has epoch %d, the first had %d", after, before)
	}
	first.doesNotLead(t)
}

// TestNotLeaderBeforeItKnows checks that an operator stops leading when another process takes its Lease, before its own
// election notices.
func TestNotLeaderBeforeItKnows(t *testing.T) {
	t.Parallel()
	space := namespace(t)
	leader := start(t, space, true)
	leader.leads(t)
	leases := kubernetes.NewForConfigOrDie(api).CoordinationV1().Leases(space)
	hang.Until(t, "the Lease is taken over", func() bool {
		taken := lease(t, space)
		other, count, now := "other", *taken.Spec.LeaseTransitions+1, metav1.NowMicro()
		taken.Spec.HolderIdentity, taken.Spec.LeaseTransitions, taken.Spec.RenewTime = &other, &count, &now
		_, err := leases.Update(t.Context(), taken, metav1.UpdateOptions{})
		return err == nil
	})
	leader.doesNotLead(t)
	select {
	case <-leader.Lost():
	case <-time.After(hang.Guard):
		t.Error("the leader does not notice that it has lost its Lease")
	}
	select {
	case err := <-leader.err:
		if err == nil {
			t.Error("the manager of a leader that lost its Lease ends without an error")
		}
		leader.err <- err // stop receives it again
	case <-time.After(hang.Guard):
		t.Error("the manager continues without its Lease")
	}
}

func TestWithoutALeaseNobodyLeads(t *testing.T) {
	t.Parallel()
	candidate, err := New(api, namespace(t))
	if err != nil {
		t.Fatal(err)
	}
	(&operator{Candidate: candidate}).doesNotLead(t)
}

func TestCandidatesOfOneHostDiffer(t *testing.T) {
	config := &rest.Config{Host: "localhost"}
	one, err := New(config, "a")
	if err != nil {
		t.Fatal(err)
	}
	other, err := New(config, "a")
	if err != nil {
		t.Fatal(err)
	}
	if one.Identity() == other.Identity() {
		t.Errorf("both are %q", one.Identity())
	}
	if config.Timeout != 0 || config.UserAgent != "" {
		t.Error("the caller's configuration was changed")
	}
	if _, err := New(config, ""); err == nil {
		t.Error("a candidate without a namespace")
	}
}

// TestUnreachable checks that a failed read returns neither an epoch nor ErrNotLeader.
func TestUnreachable(t *testing.T) {
	candidate, err := New(&rest.Config{Host: "http://127.0.0.1:1"}, "a")
	if err != nil {
		t.Fatal(err)
	}
	if epoch, err := candidate.Epoch(t.Context()); err == nil || errors.Is(err, ErrNotLeader) {
		t.Errorf("got %d, %v", epoch, err)
	}
}
