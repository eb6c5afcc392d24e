package record

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/plan"
)

// Identity is who a run is and whose.
type Identity struct {
	Name      string
	Namespace string
	UID       types.UID
	Benchmark v1alpha1.BenchmarkReference
	// Hash of spec.run, and Seed of everything random.
	Hash string
	Seed int64
}

// New freezes a resolved and planned run.
func New(identity Identity, run *v1alpha1.RunSpec, planned plan.Plan) *v1alpha1.BenchmarkRun {
	frozen := &v1alpha1.BenchmarkRun{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "BenchmarkRun"},
		ObjectMeta: metav1.ObjectMeta{Name: identity.Name, Namespace: identity.Namespace, UID: identity.UID},
		Spec: v1alpha1.BenchmarkRunSpec{
			BenchmarkRef: identity.Benchmark,
			Hash:         identity.Hash,
			Seed:         identity.Seed,
			Run:          *run.DeepCopy(),
		},
		Status: v1alpha1.BenchmarkRunStatus{Stage: v1alpha1.StagePending},
	}
	for _, step := range planned.Steps {
		resolved := v1alpha1.ResolvedStep{
			ID:          step.ID,
			Phase:       step.Phase,
			Kind:        step.Kind,
			Targets:     step.Targets,
			Clients:     int32(planned.ClientsPerTarget), //nolint:gosec // The API allows far fewer clients.
			WarmUp:      v1alpha1.DurationOf(step.WarmUp),
			MaxDuration: v1alpha1.DurationOf(step.Limit),
		}
		if !step.WorkBound() {
			duration := v1alpha1.DurationOf(step.Duration)
			resolved.Duration = &duration
		}
		frozen.Spec.Steps = append(frozen.Spec.Steps, resolved)
	}
	return frozen
}

// Snapshot is what to decide on: the facts of the run, and its clients as they are now. It fails
// only on a specification that admission would have refused.
func Snapshot(run *v1alpha1.BenchmarkRun, clients []decide.Client) (decide.Snapshot, error) {
	snapshot := decide.Snapshot{
		Clients: clients,
		Records: map[string]decide.Record{},
		Policy:  defaultPolicy,
	}
	for _, step := range run.Spec.Steps {
		limit, err := step.MaxDuration.Parse()
		if err != nil {
			return decide.Snapshot{}, fmt.Errorf("step %s: %w", step.ID, err)
		}
		snapshot.Steps = append(snapshot.Steps, decide.Step{
			ID: step.ID, Targets: step.Targets, ClientsPerTarget: int(step.Clients), Limit: limit})
		snapshot.Records[step.ID] = decide.Record{Attempt: 1}
	}
	for _, fact := range run.Status.Steps {
		if snapshot.Records[fact.ID].Attempt > int(fact.Attempt) {
			continue
		}
		snapshot.Records[fact.ID] = decide.Record{
			Attempt:  int(fact.Attempt),
			Start:    timeOf(fact.StartTime),
			Deadline: timeOf(fact.Deadline),
			Done:     fact.EndTime != nil,
		}
	}
	timeout, err := run.Spec.Run.StartTimeout.Parse()
	if err != nil {
		return decide.Snapshot{}, fmt.Errorf("spec.run.startTimeout: %w", err)
	}
	snapshot.Policy.StartTimeout = timeout
	if snapshot.Policy.ActiveDeadline, err = run.Spec.Run.ActiveDeadline.Parse(); err != nil {
		return decide.Snapshot{}, fmt.Errorf("spec.run.activeDeadline: %w", err)
	}
	if policy := run.Spec.Run.Clients.OnLoss; policy != "" {
		snapshot.Policy.OnLoss = decide.LossPolicy(policy)
	}
	if restarts := run.Spec.Run.Clients.MaxRestarts; restarts != nil {
		snapshot.Policy.MaxRestarts = int(*restarts)
	}
	snapshot.Begun = timeOf(run.Status.StartTime)
	if why := failed(run); why != nil {
		snapshot.Failure = &decide.Failure{Reason: why.Reason, Message: why.Message}
		snapshot.EndingSince = why.LastTransitionTime.Time
	}
	if removing := condition(run, v1alpha1.ConditionDataRemoved); removing != nil {
		snapshot.FinishSent = removing.LastTransitionTime.Time
	}
	return snapshot, nil
}

var defaultPolicy = decide.Policy{
	OnLoss:        decide.RestartStep,
	MaxRestarts:   2,
	StartLead:     500 * time.Millisecond,
	StopGrace:     2 * time.Minute,
	FinishTimeout: 10 * time.Minute,
}

func timeOf(at *metav1.MicroTime) time.Time {
	if at == nil {
		return time.Time{}
	}
	return at.Time
}

func micro(at time.Time) *metav1.MicroTime {
	if at.IsZero() {
		return nil
	}
	return &metav1.MicroTime{Time: at.Round(0).UTC().Truncate(time.Microsecond)}
}
