package benchmarkrun

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/conductor"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/drive"
	"github.com/storagebench/storagebench/internal/identity"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/prometheus"
	"github.com/storagebench/storagebench/internal/record"
)

// resume returns the session of a live run. If this process has none, for example after a restart, resume creates one
// from the run's status. If this operator cannot conduct the run, the error is a *cannotConduct.
func (r *Reconciler) resume(ctx context.Context, run *v1alpha1.BenchmarkRun) (*session, error) {
	if found := r.sessions.get(client.ObjectKeyFromObject(run), run.UID); found != nil {
		return found, nil
	}
	planned, err := r.thaw(ctx, run)
	if err != nil {
		return nil, err
	}
	if err := r.mayUseKueue(ctx, run); err != nil {
		return nil, err
	}
	epoch, err := r.options.Epoch(ctx)
	if err != nil {
		return nil, fmt.Errorf("read this leader's epoch: %w", err)
	}
	authority, err := identity.ForRun(r.options.Master, string(run.UID), validity(run))
	if err != nil {
		return nil, fmt.Errorf("create the run's identities: %w", err)
	}
	operator, err := authority.Operator()
	if err != nil {
		return nil, fmt.Errorf("create the operator's identity: %w", err)
	}
	made := &session{
		installation: r.options.Installation,
		epoch:        epoch,
		uid:          run.UID,
		benchmark:    run.Spec.BenchmarkRef.Name,
		plan:         planned,
		phases:       map[string]string{},
		authority:    authority,
		operator:     operator,
		conductor: conductor.New(conductor.Options{RunUID: string(run.UID), Epoch: epoch, LossTimeout: r.options.LossTimeout, Tools: planned.Tools,
			Steps: planned.Steps, Records: record.Attempts(run, planned), Memory: r.sessions.memory, CountSince: countSince(run, time.Now())}),
		members: map[decide.ClientKey]*member{},
		answers: map[decide.ClientKey]*agentapi.FinishResponse{},
		deleted: map[string]*corev1.Pod{},
		common:  r.commonOf(run),
		done:    make(chan struct{}),
	}
	made.driver = drive.NewDriver(drive.Driver{Plan: planned, Conductor: made.conductor, Shared: shared(run),
		Observer: r.observer(run)})
	for _, step := range planned.Steps {
		made.phases[step.ID] = step.Phase
	}
	for _, target := range run.Spec.Run.Targets {
		for index := range planned.ClientsPerTarget {
			key := decide.ClientKey{Target: target.Name, Index: index}
			made.order = append(made.order, key)
			made.expect(run, key, 1+replacements(run, key))
			if loss := record.LossOf(run, key); loss != nil && run.Spec.Run.Clients.OnLoss == v1alpha1.OnLossContinueDegraded {
				// The run has continued without this client. Treat the client as gone, although its pod may still
				// exist.
				made.members[key].gone(loss.Reason)
			}
		}
	}
	r.sessions.add(run, made)
	return made, nil
}

// longestQuotaWait is added to the validity of a run's certificates, because a run may wait for Kueue before its
// activeDeadline begins.
const longestQuotaWait = 365 * 24 * time.Hour

// validity returns the period in which a run's certificates are valid. It depends on the start of the run, not on its
// creation, because a run may wait for a long time before it starts.
func validity(run *v1alpha1.BenchmarkRun) identity.Validity {
	active := parseOrMax(run.Spec.Run.ActiveDeadline)
	if objects.KueueQueue(run) != "" {
		active += longestQuotaWait // activeDeadline begins only when Kueue admits the pods
	}
	return identity.ValidityOf(run.Status.StartTime.Time, active, parseOrMax(run.Spec.Run.OrphanTimeout))
}

// observer returns the evaluator of a run's observations, or nil if the run has none or the operator has no Prometheus.
func (r *Reconciler) observer(run *v1alpha1.BenchmarkRun) drive.Observer {
	if r.options.Prometheus == nil || len(run.Spec.Run.Observations) == 0 {
		return nil
	}
	return prometheus.NewObserver(*r.options.Prometheus, run.Namespace)
}

// shared returns a function that reports whether all clients of the given target mount the same volumes.
func shared(run *v1alpha1.BenchmarkRun) func(target string) bool {
	targets := run.Spec.Run.Targets
	return func(name string) bool {
		i := slices.IndexFunc(targets, func(t v1alpha1.Target) bool { return t.Name == name })
		return i >= 0 && plan.Shared(&targets[i])
	}
}

// cannotConduct is the error for a run that this operator is unable to conduct.
type cannotConduct struct{ reason, why string }

func (c *cannotConduct) Error() string { return c.why }

// thaw returns the plan that is stored in a run. Before the first step, it also validates the specification, because a
// user or another version of the operator may have created the run, and this version must not begin a run that it would
// reject.
func (r *Reconciler) thaw(ctx context.Context, run *v1alpha1.BenchmarkRun) (plan.Plan, error) {
	planned, err := plan.Thaw(&run.Spec)
	if err != nil {
		return plan.Plan{}, &cannotConduct{v1alpha1.ReasonInvalidWorkload, err.Error()}
	}
	if len(run.Status.Steps) == 0 {
		cluster := plan.Cluster{Namespace: run.Namespace, PriorityClass: r.options.PriorityClass}
		catalog, faults := r.options.Catalog(ctx)
		_, problems := plan.Make(&run.Spec.Run, run.Spec.Seed, plan.WithCatalog(catalog), plan.InCluster(cluster))
		if len(problems) > 0 && len(faults) > 0 {
			return plan.Plan{}, errors.New(faults[0]) // retry: the faulty catalog may lack a preset that the run names
		}
		if len(problems) > 0 {
			return plan.Plan{}, &cannotConduct{v1alpha1.ReasonInvalidWorkload, problems.ToAggregate().Error()}
		}
	}
	return planned, nil
}

// abandon fails a run that this operator cannot conduct. The agents remove the run's data when its pods are deleted.
func (r *Reconciler) abandon(ctx context.Context, before, run *v1alpha1.BenchmarkRun, why *cannotConduct) (ctrl.Result, error) {
	record.Fail(run, decide.Failure{Reason: why.reason, Message: why.Error()}, time.Now())
	record.Finished(run, unconfirmedData(run), time.Now())
	if err := r.store(ctx, before, run); err != nil {
		return retryConflict(err, "record that the run cannot continue")
	}
	return ctrl.Result{RequeueAfter: soon}, nil
}

// parseOrMax parses a duration that admission has checked. It returns the API's maximum if the duration is invalid.
func parseOrMax(length v1alpha1.Duration) time.Duration {
	parsed, err := length.Parse()
	if err != nil {
		return 7 * 24 * time.Hour
	}
	return parsed
}

// replacements returns how often a client was replaced, according to the status.
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

// expect adds the agent for a new attempt of a client. The agent is connected once its pod has an address.
func (s *session) expect(run *v1alpha1.BenchmarkRun, key decide.ClientKey, attempt int) {
	added := &member{
		pod:   objects.Client{Target: key.Target, Index: key.Index, Attempt: attempt},
		agent: s.conductor.Expect(key, attempt-1),
	}
	if old := s.members[key]; old != nil {
		// The previous attempt's agent may have created data. The data still exists unless that agent has removed it.
		added.met = old.met && !old.tidy
	} else {
		// If a step was recorded before the operator restarted, every agent had connected, because a step starts only
		// when all clients are ready.
		added.met = len(run.Status.Steps) > 0
		added.worked = wasThere(run, added)
	}
	s.members[key] = added
}

// connect connects to the agent of a client once its address is known.
func (s *session) connect(m *member, address string) error {
	if m.connected {
		return nil
	}
	config, err := s.operator.ClientTLS(identity.ClientOf(string(s.uid), m.pod.Target, m.pod.Index))
	if err != nil {
		return fmt.Errorf("prepare the connection to client %s/%d: %w", m.pod.Target, m.pod.Index, err)
	}
	m.connected = true
	m.agent.Connect(conductor.Endpoint{TLS: config, Locate: func(context.Context) (string, error) { return address, nil }})
	return nil
}
