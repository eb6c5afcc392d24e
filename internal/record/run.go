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

// Identity identifies a run and its benchmark, and holds the settings that come from the benchmark.
type Identity struct {
	Name      string
	Namespace string
	UID       types.UID
	Benchmark v1alpha1.BenchmarkReference
	// Hash is the hash of spec.run. Seed is the seed of all random numbers.
	Hash string
	Seed int64
	// Objectives are the objectives against which the run is evaluated when it ends.
	Objectives []v1alpha1.Objective
	// Headline is the phase whose figure represents the run in lists. If it is empty, a phase is chosen automatically.
	Headline string
}

// New returns a BenchmarkRun that contains a resolved specification and its plan. Neither changes afterwards.
func New(identity Identity, run *v1alpha1.RunSpec, planned plan.Plan) *v1alpha1.BenchmarkRun {
	return &v1alpha1.BenchmarkRun{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "BenchmarkRun"},
		ObjectMeta: metav1.ObjectMeta{Name: identity.Name, Namespace: identity.Namespace, UID: identity.UID},
		Spec: v1alpha1.BenchmarkRunSpec{
			BenchmarkRef: identity.Benchmark,
			Hash:         identity.Hash,
			Seed:         identity.Seed,
			Run:          *run.DeepCopy(),
			Format:       new(plan.Format),
			DatasetHash:  planned.DatasetHash,
			Steps:        planned.Freeze(),
			Objectives:   objectives(identity.Objectives),
			Headline:     identity.Headline,
		},
		Status: v1alpha1.BenchmarkRunStatus{Stage: v1alpha1.StagePending},
	}
}

func objectives(given []v1alpha1.Objective) []v1alpha1.Objective {
	var frozen []v1alpha1.Objective
	for i := range given {
		frozen = append(frozen, *given[i].DeepCopy())
	}
	return frozen
}

// Snapshot returns the input for a decision: the recorded state of the run, its plan, and the current state of its
// clients. It returns an error only if the specification is invalid, which admission prevents.
func Snapshot(run *v1alpha1.BenchmarkRun, planned plan.Plan, clients []decide.Client) (decide.Snapshot, error) {
	snapshot := decide.Snapshot{
		Clients: clients,
		Records: Attempts(run, planned),
		LostAt:  map[decide.ClientKey]time.Time{},
		Policy:  defaultPolicy,
	}
	for _, client := range clients {
		if loss := LossOf(run, client.Key); loss != nil {
			snapshot.LostAt[client.Key] = timeOf(loss.Time)
		}
	}
	for _, step := range planned.Steps {
		snapshot.Steps = append(snapshot.Steps, stepOf(run, step))
	}
	snapshot.Policy.StartLead = StartLead(len(clients))
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
	snapshot.Begun = run.Status.TimeoutsStart()
	if why := failed(run); why != nil {
		snapshot.Failure = &decide.Failure{Reason: why.Reason, Message: why.Message}
		snapshot.EndingSince = why.LastTransitionTime.Time
	}
	if removing := condition(run, v1alpha1.ConditionDataRemoved); removing != nil {
		snapshot.FinishSent = removing.LastTransitionTime.Time
	}
	return snapshot, nil
}

// Attempts returns the record of the newest attempt of each step, by step ID.
func Attempts(run *v1alpha1.BenchmarkRun, planned plan.Plan) map[string]decide.Record {
	records := map[string]decide.Record{}
	for _, step := range planned.Steps {
		records[step.ID] = decide.Record{Attempt: 1}
	}
	for _, fact := range run.Status.Steps {
		if records[fact.ID].Attempt > int(fact.Attempt) {
			continue
		}
		records[fact.ID] = decide.Record{
			Attempt:   int(fact.Attempt),
			Start:     timeOf(fact.StartTime),
			Deadline:  timeOf(fact.Deadline),
			Done:      fact.EndTime != nil,
			Concluded: timeOf(fact.ConcludedTime),
		}
	}
	return records
}

// stepOf converts a step of the plan to the input of decide.Next.
func stepOf(run *v1alpha1.BenchmarkRun, step plan.Step) decide.Step {
	made := decide.Step{
		ID:               step.ID,
		Targets:          step.Targets,
		ClientsPerTarget: step.Clients,
		Limit:            step.Limit,
		Idle:             step.Purpose == plan.Idle,
		NonRepeatable:    step.NonRepeatable(),
		Coupled:          step.SpansAnyClients(),
	}
	if made.Coupled && step.Purpose == plan.Drain {
		// IOR can end only between two repetitions, and a repetition can take a long time. Therefore, end the drain
		// after its planned duration, even if the credits have not run out.
		made.Latest = step.Duration
	}
	if step.Adaptive() {
		made.Earliest = step.WarmUp + step.MinDuration
	}
	if step.UntilCreditsPercent > 0 {
		made.Until = idleUntil(run, step)
	}
	return made
}

// StartLead returns the time between the decision to start a step and the common start instant. It must be long enough
// to notify all clients. An agent that is notified too late reports this, and the step is repeated with a longer lead.
func StartLead(clients int) time.Duration {
	return min(leastLead+time.Duration(clients)*leadOfClient, mostLead)
}

const (
	leastLead    = 40 * time.Millisecond
	leadOfClient = 2 * time.Millisecond
	mostLead     = time.Second
)

var defaultPolicy = decide.Policy{
	OnLoss:        decide.RestartStep,
	MaxRestarts:   2,
	StopGrace:     2 * time.Minute,
	LossPatience:  10 * time.Second,
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
