package benchmarkrun

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/conductor"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/earlystop"
	"github.com/storagebench/storagebench/internal/identity"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/internal/plan"
)

// session is what this process holds of a live run. A run is reconciled by one worker at a time, so
// only what the conductor's answers touch needs the lock.
type session struct {
	// gone are benchmarks, by UID, that are gone and have left data on the run's volumes; goneAsked that it is known.
	gone      []string
	goneAsked bool
	// installation is that of this operator, in what agents write to storage.
	installation string

	uid       types.UID
	benchmark string
	plan      plan.Plan
	// phases of the plan's steps, by their IDs.
	phases    map[string]string
	conductor *conductor.Conductor
	watcher   *earlystop.Watcher
	authority *identity.Authority
	members   map[decide.ClientKey]*member
	// order of the members: that of the specification.
	order []decide.ClientKey
	// claimed is what was found of the run's claims; nil before they were looked at.
	claimed *claimed
	// told is when the status last said how far a step is.
	told time.Time
	// asked is when the cluster was last asked why clients are not there.
	asked time.Time

	// loading is the attempt that loads, or did last, and counted says that what clients did before this session is known; both
	// are for who looks on, see Live.
	loading atomic.Pointer[decide.Attempt]
	counted atomic.Bool

	mu      sync.Mutex
	answers map[decide.ClientKey]*agentapi.FinishResponse
	// deleted pods, as they were at last.
	deleted map[types.UID]*corev1.Pod
	done    chan struct{}
}

// member is one client and the pod that it is at present.
type member struct {
	pod objects.Client
	// uid of the pod, once it was seen; made says that this process has created it, served that its
	// Secret is there too.
	uid          types.UID
	made, served bool
	// lose tells the conductor that this very pod is gone.
	lose func(message string)
	lost bool
	// address gets the agent's host and port once.
	address chan string
	located bool
	// why the client is not there yet, as the cluster tells it.
	why string
	// heldUntil is when the pod was last seen to wait for quota.
	heldUntil time.Time
	// worked says that the process before this one has given the agent of this very pod something to do.
	worked bool
	// met says that the agent has answered once, and so may have made files; tidy that its pod ended
	// as one does whose agent has removed them.
	met, tidy bool
	// reached says that the agent of this very pod has answered this process.
	reached bool
	// finishing says that this process has told the agent to finish.
	finishing bool
}

func (s *session) now() time.Time { return s.conductor.Reference.Now() }

func (s *session) answered(key decide.ClientKey, answer *agentapi.FinishResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[key] = answer
}

func (s *session) answer(key decide.ClientKey) *agentapi.FinishResponse {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answers[key]
}

// saw remembers how a pod was when it was deleted, for the run that owns it. A pod that has ended stays for
// a moment only, and what it has ended with is written nowhere else.
func (s *sessions) saw(pod *corev1.Pod) {
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return
	}
	s.mu.Lock()
	found := s.live[client.ObjectKey{Namespace: pod.Namespace, Name: owner.Name}]
	s.mu.Unlock()
	if found == nil || found.uid != owner.UID {
		// It is of a run that went before; get would hang up on the one that is live.
		return
	}
	found.mu.Lock()
	defer found.mu.Unlock()
	found.deleted[pod.UID] = pod
}

// former is a pod that was deleted, as it was at last; nil when that is not known.
func (s *session) former(uid types.UID) *corev1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deleted[uid]
}

// calm is the least time between two reconciles that agents ask for: they report every second each,
// and nobody needs to decide on every word of hundreds of them. With few it is short, because between two
// steps the store has nothing to do meanwhile.
func (s *session) calm() time.Duration {
	return min(time.Duration(len(s.order))*time.Millisecond/2, 50*time.Millisecond)
}

// sessions are the live runs of this process.
type sessions struct {
	changed chan changed

	mu      sync.Mutex
	live    map[client.ObjectKey]*session
	written map[client.ObjectKey]*v1alpha1.BenchmarkRun
}

func newSessions() *sessions {
	return &sessions{
		changed: make(chan changed, 64),
		live:    map[client.ObjectKey]*session{},
		written: map[client.ObjectKey]*v1alpha1.BenchmarkRun{},
	}
}

// Start implements manager.Runnable: it hangs up when this process stops leading.
func (s *sessions) Start(ctx context.Context) error {
	<-ctx.Done()
	s.mu.Lock()
	var keys []client.ObjectKey
	for key := range s.live {
		keys = append(keys, key)
	}
	s.mu.Unlock()
	for _, key := range keys {
		s.drop(key)
	}
	return nil
}

func (s *sessions) get(key client.ObjectKey, uid types.UID) *session {
	s.mu.Lock()
	found := s.live[key]
	s.mu.Unlock()
	if found != nil && found.uid != uid {
		s.drop(key)
		return nil
	}
	return found
}

func (s *sessions) add(run *v1alpha1.BenchmarkRun, added *session) {
	key := client.ObjectKeyFromObject(run)
	s.mu.Lock()
	s.live[key] = added
	s.mu.Unlock()
	go s.follow(key, added)
}

// follow asks for a reconcile whenever the agents have news.
func (s *sessions) follow(key client.ObjectKey, followed *session) {
	asked := &v1alpha1.BenchmarkRun{}
	asked.Namespace, asked.Name = key.Namespace, key.Name
	for {
		select {
		case <-followed.conductor.Changed():
		case <-followed.done:
			return
		}
		select {
		case s.changed <- changed{Object: asked}:
		case <-followed.done:
			return
		}
		time.Sleep(followed.calm())
	}
}

// drop forgets a run and hangs up. Its agents go on by themselves.
func (s *sessions) drop(key client.ObjectKey) {
	s.mu.Lock()
	dropped := s.live[key]
	delete(s.live, key)
	s.mu.Unlock()
	if dropped != nil {
		close(dropped.done)
		dropped.conductor.Close()
	}
}

// newest is the newer of a run as the cache has it and as this process has last written it.
func (s *sessions) newest(cached *v1alpha1.BenchmarkRun) *v1alpha1.BenchmarkRun {
	key := client.ObjectKeyFromObject(cached)
	s.mu.Lock()
	defer s.mu.Unlock()
	written := s.written[key]
	if written != nil && written.UID == cached.UID && olderThan(cached, written) {
		return written.DeepCopy()
	}
	delete(s.written, key)
	return cached
}

// wrote remembers what was written until the cache knows of it.
func (s *sessions) wrote(run *v1alpha1.BenchmarkRun) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written[client.ObjectKeyFromObject(run)] = run.DeepCopy()
}

// forget drops all that is known of a run that is gone.
func (s *sessions) forget(key client.ObjectKey) {
	s.drop(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.written, key)
}
