package benchmarkrun

import (
	"context"
	"maps"
	"slices"
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
	"github.com/storagebench/storagebench/internal/drive"
	"github.com/storagebench/storagebench/internal/identity"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/internal/plan"
)

// session is the state that this process holds for a live run. Only one worker at a time reconciles a run, so the lock
// protects only the fields that the conductor's callbacks and the pod watch access.
type session struct {
	// gone lists the UIDs of deleted benchmarks that have left data on the run's volumes. goneRead is true once the
	// operator has looked them up.
	gone     []string
	goneRead bool
	// installation identifies this operator in the files that agents write to storage.
	installation string

	// epoch is the leader's epoch, with which this process commands the agents.
	epoch     uint64
	uid       types.UID
	benchmark string
	plan      plan.Plan
	// phases maps the IDs of the plan's steps to the names of their phases.
	phases    map[string]string
	conductor *conductor.Conductor
	driver    *drive.Driver
	authority *identity.Authority
	// operator is the identity with which this process connects to the agents.
	operator identity.Bundle
	members  map[decide.ClientKey]*member
	// order lists the keys of the run's clients, in the order of the specification.
	order []decide.ClientKey
	// common lists the objects from commonOf that have not been created yet.
	common []client.Object
	// ownPods records, by UID, whether the operator created each pod that names the run as its owner.
	ownPods map[types.UID]bool
	// claimed is the result of inspecting the run's claims. It is nil until they are inspected. inspectAgain is true if
	// they must be inspected again before clients are replaced.
	claimed      *claimed
	inspectAgain bool
	// progress determines when to report a step's progress. absent determines when to report which clients are not
	// connected.
	progress, absent reports
	// eventsReadAt is the last time that the operator looked up why clients are missing.
	eventsReadAt time.Time
	// lostReported is the last time that this process reported that the API server refused to delete pods of lost clients.
	lostReported time.Time

	// loading is the attempt of the step under load, or of the last step that was under load. counted is true once the
	// totals of bytes and operations include the work that clients did before this session. Live uses both fields.
	loading atomic.Pointer[decide.Attempt]
	counted atomic.Bool

	mu      sync.Mutex
	answers map[decide.ClientKey]*agentapi.FinishResponse
	// deleted holds the last state of deleted pods, by name.
	deleted map[string]*corev1.Pod
	done    chan struct{}
}

// member is one client with its current pod.
type member struct {
	pod objects.Client
	// uid is the UID of the pod. It is set once the pod has been created or found. served is true if the pod's Secret
	// exists too.
	uid    types.UID
	served bool
	// noSecret is true if the pod is known to have no Secret yet, because this process has just created the pod.
	noSecret bool
	// agent is the conductor's handle for this pod's agent. connected is true once the agent's address is known.
	agent     *conductor.Agent
	connected bool
	lost      bool
	// refusedAt is the last time that the API server refused to delete the pod of the lost client.
	refusedAt time.Time
	// why is the reason that the cluster reports for the missing client. uncreated is true if the reason is that the
	// client's pod or Secret could not be created.
	why       string
	uncreated bool
	// heldUntil is the last time that the pod was seen waiting for quota.
	heldUntil time.Time
	// worked is true if this pod's agent took part in a step before this operator process took over.
	worked bool
	// met is true if an agent of this client has answered at least once and may therefore have created files. tidy is true
	// if the pod succeeded, which means that its agent has removed these files.
	met, tidy bool
	// reached is true if this pod's agent has answered this operator process.
	reached bool
	// removers are the clients that this process has asked to remove this lost client's data along with their own.
	removers []decide.ClientKey
	// finishing is true if this process has told the agent to clean up and exit.
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

// recordDeletedPod records the last state of a deleted pod for the run that owns it. A pod that has ended may exist
// only for a moment, and its exit status is recorded nowhere else.
func (s *sessions) recordDeletedPod(pod *corev1.Pod, owner *metav1.OwnerReference) {
	s.mu.Lock()
	found := s.live[client.ObjectKey{Namespace: pod.Namespace, Name: owner.Name}]
	s.mu.Unlock()
	if found == nil || found.uid != owner.UID {
		// The deleted pod belongs to an earlier run of the same name. Calling sessions.get here would drop the session
		// of the live run.
		return
	}
	found.mu.Lock()
	defer found.mu.Unlock()
	found.deleted[pod.Name] = pod
}

// former returns the last state of a deleted pod, or nil if it is not known.
func (s *session) former(name string, uid types.UID) *corev1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	if pod := s.deleted[name]; pod != nil && pod.UID == uid {
		return pod
	}
	return nil
}

// minReconcileInterval returns the minimum time between two reconciles that agents trigger. Each agent reports once per
// second. With hundreds of agents, one reconcile handles many reports. With few agents, the interval is short, so that
// the store is idle only briefly between two steps.
func (s *session) minReconcileInterval() time.Duration {
	return min(time.Duration(len(s.order))*time.Millisecond/2, 50*time.Millisecond)
}

// sessions holds the live runs of this process.
type sessions struct {
	changed chan changed
	// memory is the memory budget for the reports from the agents of all runs.
	memory *conductor.Budget
	// computing is locked while a result is computed, so only one is computed at a time. The computation needs several
	// times the memory of the reports.
	computing sync.Mutex

	mu      sync.Mutex
	live    map[client.ObjectKey]*session
	written map[client.ObjectKey]*v1alpha1.BenchmarkRun
	// explained maps each run to the time of its last report about a request that the API server rejected.
	explained map[client.ObjectKey]time.Time
}

func newSessions() *sessions {
	return &sessions{
		changed:   make(chan changed, 64),
		memory:    conductor.ProcessBudget(),
		live:      map[client.ObjectKey]*session{},
		written:   map[client.ObjectKey]*v1alpha1.BenchmarkRun{},
		explained: map[client.ObjectKey]time.Time{},
	}
}

// Start implements manager.Runnable. It closes all sessions when this process stops leading.
func (s *sessions) Start(ctx context.Context) error {
	<-ctx.Done()
	s.mu.Lock()
	keys := slices.Collect(maps.Keys(s.live))
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

// follow requests a reconcile whenever the agents report a change.
func (s *sessions) follow(key client.ObjectKey, followed *session) {
	run := &v1alpha1.BenchmarkRun{}
	run.Namespace, run.Name = key.Namespace, key.Name
	for {
		select {
		case <-followed.conductor.Changed():
		case <-followed.done:
			return
		}
		select {
		case s.changed <- changed{Object: run}:
		case <-followed.done:
			return
		}
		time.Sleep(followed.minReconcileInterval())
	}
}

// drop removes the session of a run and closes its connections. The agents continue on their own.
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

// newest returns the newer of two versions of a run: the cached one and the last one that this process wrote.
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

// wrote stores the last version of a run that this process has written, until the cache shows that version.
func (s *sessions) wrote(run *v1alpha1.BenchmarkRun) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written[client.ObjectKeyFromObject(run)] = run.DeepCopy()
}

// forget drops all state of a run that no longer exists.
func (s *sessions) forget(key client.ObjectKey) {
	s.drop(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.written, key)
	delete(s.explained, key)
}

// mayExplain reports whether the run may report another rejection by the API server. It returns true at most once per
// beat. Each report changes the run and so triggers a reconcile. Without this limit, alternating rejections would
// trigger reconciles without a pause.
func (s *sessions) mayExplain(key client.ObjectKey, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.explained[key]) < beat {
		return false
	}
	s.explained[key] = now
	return true
}
