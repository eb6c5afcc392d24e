package benchmarkrun

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/conductor"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/earlystop"
	"github.com/storagebench/storagebench/internal/identity"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/record"
)

// resume gives the session of a live run. Where this process has none, such as after a restart, it
// makes one from what is recorded. A run that this version cannot conduct has none: the error is a *cannotConduct then.
func (r *Reconciler) resume(ctx context.Context, run *v1alpha1.BenchmarkRun) (*session, error) {
	if found := r.sessions.get(client.ObjectKeyFromObject(run), run.UID); found != nil {
		return found, nil
	}
	planned, err := thaw(run)
	if err != nil {
		return nil, err
	}
	epoch, err := r.options.Epoch(ctx)
	if err != nil {
		return nil, fmt.Errorf("learn this leader's epoch: %w", err)
	}
	authority, err := identity.ForRun(r.options.Master, string(run.UID), identity.ValidityOf(run.Status.StartTime.Time, // it may have waited for long
		atMost(run.Spec.Run.ActiveDeadline), atMost(run.Spec.Run.OrphanTimeout)))
	if err != nil {
		return nil, fmt.Errorf("make the run's identities: %w", err)
	}
	made := &session{
		installation: r.options.Installation,
		uid:          run.UID,
		benchmark:    run.Spec.BenchmarkRef.Name,
		plan:         planned,
		phases:       map[string]string{},
		authority:    authority,
		conductor: conductor.New(conductor.Options{RunUID: string(run.UID), Epoch: epoch, LossTimeout: r.options.LossTimeout, Tools: planned.Tools,
			CountSince: countSince(run, time.Now())}),
		members: map[decide.ClientKey]*member{},
		answers: map[decide.ClientKey]*agentapi.FinishResponse{},
		deleted: map[types.UID]*corev1.Pod{},
		done:    make(chan struct{}),
	}
	made.watcher = earlystop.New(made.conductor)
	for _, step := range planned.Steps {
		made.phases[step.ID] = step.Phase
	}
	for _, target := range run.Spec.Run.Targets {
		for index := range planned.ClientsPerTarget {
			key := decide.ClientKey{Target: target.Name, Index: index}
			made.order = append(made.order, key)
			if err := made.connect(run, key, 1+replacements(run, key)); err != nil {
				made.conductor.Close()
				return nil, err
			}
		}
	}
	r.sessions.add(run, made)
	return made, nil
}

// cannotConduct says why this version cannot conduct a run.
type cannotConduct struct{ why string }

func (c *cannotConduct) Error() string { return c.why }

// thaw gives the plan by which a run is conducted. Before its first step the specification is looked at once more: nothing
// that this version would refuse begins, whoever wrote the run.
func thaw(run *v1alpha1.BenchmarkRun) (plan.Plan, error) {
	planned, err := plan.Thaw(&run.Spec)
	if err != nil {
		return plan.Plan{}, &cannotConduct{err.Error()}
	}
	if len(run.Status.Steps) == 0 {
		if _, problems := plan.Make(&run.Spec.Run, run.Spec.Seed); len(problems) > 0 {
			return plan.Plan{}, &cannotConduct{problems.ToAggregate().Error()}
		}
	}
	return planned, nil
}

// abandon fails a run that this version cannot conduct. Its pods go with it; their agents remove
// the data when they are told to end.
func (r *Reconciler) abandon(ctx context.Context, before, run *v1alpha1.BenchmarkRun, why *cannotConduct) (ctrl.Result, error) {
	record.Fail(run, decide.Failure{Reason: v1alpha1.ReasonInvalidWorkload, Message: why.Error()}, time.Now())
	record.Finished(run, unseen(run), time.Now())
	if err := r.store(ctx, before, run); err != nil {
		return again(err, "note that the run cannot go on")
	}
	r.tell(run, before)
	return ctrl.Result{RequeueAfter: time.Millisecond}, nil
}

// atMost reads a length of time that admission has checked; the API's maximum where it has not.
func atMost(length v1alpha1.Duration) time.Duration {
	parsed, err := length.Parse()
	if err != nil {
		return 7 * 24 * time.Hour
	}
	return parsed
}

// replacements counts how often a client was replaced, by what is recorded.
func replacements(run *v1alpha1.BenchmarkRun, key decide.ClientKey) int {
	count := 0
	for _, lost := range run.Status.LostClients {
		if lost.Replaced && isClient(lost, key) {
			count++
		}
	}
	return count
}

func isClient(lost v1alpha1.LostClient, key decide.ClientKey) bool {
	return lost.Target == key.Target && int(lost.Client) == key.Index
}

// connect begins to reach for the agent of a client's attempt, whether its pod is there or not.
func (s *session) connect(run *v1alpha1.BenchmarkRun, key decide.ClientKey, attempt int) error {
	operator, err := s.authority.Operator()
	if err != nil {
		return fmt.Errorf("make the operator's identity: %w", err)
	}
	config, err := operator.ClientTLS(identity.ClientOf(string(run.UID), key.Target, key.Index))
	if err != nil {
		return fmt.Errorf("make the operator's identity: %w", err)
	}
	added := &member{
		pod:     objects.Client{Target: key.Target, Index: key.Index, Attempt: attempt},
		address: make(chan string, 1),
	}
	if old := s.members[key]; old != nil {
		// What a former pod has left is there still, unless its agent has removed it.
		added.met = old.met && !old.tidy
	} else {
		// After a restart: where a step was begun every agent had been met.
		added.met = len(run.Status.Steps) > 0
		added.worked = wasThere(run, added)
	}
	s.members[key] = added
	added.lose = s.conductor.Connect(conductor.Endpoint{
		Key:          key,
		TLS:          config,
		Replacements: attempt - 1,
		Locate: func(ctx context.Context) (string, error) {
			select {
			case address := <-added.address:
				return address, nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		},
	})
	return nil
}

// locate tells where the agent of a client listens.
func (m *member) locate(address string) {
	if !m.located && !strings.HasPrefix(address, ":") {
		m.located = true
		m.address <- address
	}
}
