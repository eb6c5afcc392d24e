package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StorageBenchmark requests a storage benchmark: what to run, when to run it, and which figures are
// good enough.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=sbench,categories=storagebench
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Stage",type=string,JSONPath=`.status.stage`
// +kubebuilder:printcolumn:name="Result",type=string,JSONPath=`.status.display.result`
// +kubebuilder:printcolumn:name="p99",type=string,JSONPath=`.status.display.p99`
// +kubebuilder:printcolumn:name="Figure",type=string,JSONPath=`.status.display.figure`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,priority=1
// +kubebuilder:printcolumn:name="Last Run",type=string,JSONPath=`.status.lastRun.name`,priority=1
// +kubebuilder:printcolumn:name="Next",type=string,JSONPath=`.status.nextScheduleTime`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
//
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 40",message="metadata.name: at most 40 characters, because pod names derive from it; choose a shorter name"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name: use lower-case letters, digits and dashes only, no dots, because it becomes a label and part of pod names"
type StorageBenchmark struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata. The name has at most 40 characters and is a DNS
	// label, because the names of pods are derived from it.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the requested benchmark.
	// +required
	Spec StorageBenchmarkSpec `json:"spec"`

	// status is the verdict, with a reference to the newest run.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status StorageBenchmarkStatus `json:"status,omitzero"`
}

// StorageBenchmarkList is a list of StorageBenchmarks.
//
// +kubebuilder:object:root=true
type StorageBenchmarkList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []StorageBenchmark `json:"items"`
}

// StorageBenchmarkSpec defines what to run (run), when to run it and how to evaluate it. Only a change of run
// automatically requests a new run.
//
// +kubebuilder:validation:XValidation:rule="!has(self.objectives) || self.objectives.all(o, self.run.phases.exists(p, p.name == o.phase))",message="objectives: phase must be the name of one of run.phases; correct the name"
// +kubebuilder:validation:XValidation:rule="!has(self.objectives) || self.objectives.all(o, !has(o.target) || self.run.targets.exists(t, t.name == o.target))",message="objectives: target must be the name of one of run.targets; correct the name, or remove it to judge each target"
// +kubebuilder:validation:XValidation:rule="!has(self.headline) || self.run.phases.exists(p, p.name == self.headline && !has(p.prepare))",message="headline: must name one of run.phases that is not a prepare phase; correct the name",fieldPath=".headline"
type StorageBenchmarkSpec struct {
	// trigger defines what starts a run. Defaults to a change of spec.run.
	// +optional
	Trigger *Trigger `json:"trigger,omitempty"`

	// suspend prevents new runs from being started; the current run continues and is evaluated, unless it is deleted.
	// Requests for runs in the meantime, such as new values of trigger.manual, start a single run once suspend is false
	// again.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`

	// queue is the name of a queue in this namespace, or of a queue across namespaces if the operator's --shared-queues
	// flag lists it. Runs in the same queue never overlap, so that two benchmarks do not load the same storage server
	// at once.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="use lower-case letters, digits and dashes only, beginning and ending with a letter or a digit"
	Queue string `json:"queue,omitempty"`

	// successfulRunsHistoryLimit is the number of complete runs to keep, whatever their verdict. Defaults to 20.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=200
	SuccessfulRunsHistoryLimit *int32 `json:"successfulRunsHistoryLimit,omitempty"`

	// failedRunsHistoryLimit is the number of failed runs to keep. Defaults to 5.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=200
	FailedRunsHistoryLimit *int32 `json:"failedRunsHistoryLimit,omitempty"`

	// historyLimit is the former name of successfulRunsHistoryLimit, which takes precedence.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=200
	HistoryLimit *int32 `json:"historyLimit,omitempty"`

	// failedHistoryLimit is the former name of failedRunsHistoryLimit, which takes precedence.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=200
	FailedHistoryLimit *int32 `json:"failedHistoryLimit,omitempty"`

	// objectives are the figures of a run that must stay within bounds. Changing them re-evaluates the stored
	// results without starting a run.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, b.name == a.name))",message="objectives: names must differ; rename one"
	Objectives []Objective `json:"objectives,omitempty"`

	// regression compares each run with earlier ones.
	// +optional
	Regression *RegressionPolicy `json:"regression,omitempty"`

	// headline is the name of the phase whose figure kubectl get shows for new runs. Defaults to the last burst drain
	// with a baseline, or else to the last phase with a throughput, or else to the last one with an operation rate or a
	// duration. A phase with expect: ServerCache is shown only if named here.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	Headline string `json:"headline,omitempty"`

	// run is the part of the spec that is frozen when a run is created.
	// +required
	Run RunSpec `json:"run"`
}

// HistoryLimits returns how many complete and how many failed runs to keep.
func (s *StorageBenchmarkSpec) HistoryLimits() (complete, failed int) {
	first := func(limits ...*int32) int {
		for _, limit := range limits {
			if limit != nil {
				return int(*limit)
			}
		}
		return 0
	}
	return first(s.SuccessfulRunsHistoryLimit, s.HistoryLimit, new(int32(20))), first(s.FailedRunsHistoryLimit, s.FailedHistoryLimit, new(int32(5)))
}

// ConcurrencyPolicy determines what happens to the current run when another one is due. Runs of one benchmark never
// overlap, because they would disturb each other.
//
// +kubebuilder:validation:Enum=Forbid;Replace
type ConcurrencyPolicy string

const (
	// ConcurrencyForbid starts the new run after the current one.
	ConcurrencyForbid ConcurrencyPolicy = "Forbid"
	// ConcurrencyReplace stops the current run first.
	ConcurrencyReplace ConcurrencyPolicy = "Replace"
)

// ReplacePolicy is the former name of ConcurrencyPolicy.
//
// +kubebuilder:validation:Enum=Wait;Stop
type ReplacePolicy string

const (
	// ReplaceWait starts the new run after the current one.
	ReplaceWait ReplacePolicy = "Wait"
	// ReplaceStop stops the current run first.
	ReplaceStop ReplacePolicy = "Stop"
)

// Trigger defines what starts a run.
//
// +kubebuilder:validation:XValidation:rule="has(self.schedule) || !(has(self.timeZone) || has(self.startingDeadlineSeconds) || has(self.startingDeadline))",message="trigger: timeZone and startingDeadlineSeconds require a schedule; set schedule, or remove them"
type Trigger struct {
	// onChange starts a run when spec.run is new or has changed. Defaults to true without a schedule, false with one.
	// If false, a new benchmark starts no run even if its manual field is set.
	// +optional
	OnChange *bool `json:"onChange,omitempty"`

	// schedule is a cron expression of five fields, such as "0 3 * * 1".
	// +optional
	// +kubebuilder:validation:MinLength=9
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^ ]+( [^ ]+){4}$')",message="schedule: must be five cron fields separated by single spaces, such as '0 3 * * 1'"
	Schedule string `json:"schedule,omitempty"`

	// timeZone is the IANA name of the time zone of the schedule. Defaults to UTC.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`

	// startingDeadlineSeconds is the maximum delay of a scheduled run. A run that would start later is skipped. If
	// unset, there is no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=604800
	StartingDeadlineSeconds *int64 `json:"startingDeadlineSeconds,omitempty"`

	// concurrencyPolicy determines what happens to the current run when another one is due: Forbid lets it finish
	// first; Replace ends it without a verdict as soon as the next run can start. Defaults to Forbid.
	// +optional
	ConcurrencyPolicy ConcurrencyPolicy `json:"concurrencyPolicy,omitempty"`

	// startingDeadline is the former name of startingDeadlineSeconds, which takes precedence.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.matches('[1-9]')",message="must be longer than zero; use a duration such as 30s, or remove the field"
	StartingDeadline *Duration `json:"startingDeadline,omitempty"`

	// replacePolicy is the former name of concurrencyPolicy, which takes precedence. Wait means Forbid, and Stop means
	// Replace.
	// +optional
	ReplacePolicy ReplacePolicy `json:"replacePolicy,omitempty"`

	// manual is any text; each new value, such as one committed to Git, requests one more run. status.lastHandledManual
	// echoes it. Several changes before the next run starts count as one request.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Manual string `json:"manual,omitempty"`
}

// StartsOnChange reports whether a new or changed spec.run starts a run.
func (t *Trigger) StartsOnChange() bool {
	if t != nil && t.OnChange != nil {
		return *t.OnChange
	}
	return t == nil || t.Schedule == ""
}

// Replaces reports whether a due run stops the current one.
func (t *Trigger) Replaces() bool {
	switch {
	case t == nil:
		return false
	case t.ConcurrencyPolicy != "":
		return t.ConcurrencyPolicy == ConcurrencyReplace
	}
	return t.ReplacePolicy == ReplaceStop
}

// Deadline returns the maximum delay of a scheduled run; 0 means no limit.
func (t *Trigger) Deadline() (time.Duration, error) {
	switch {
	case t.StartingDeadlineSeconds != nil:
		return time.Duration(*t.StartingDeadlineSeconds) * time.Second, nil
	case t.StartingDeadline != nil:
		return t.StartingDeadline.Parse()
	}
	return 0, nil
}

// RegressionPolicy defines what the newest run is compared with.
type RegressionPolicy struct {
	// against is the number of earlier valid runs to compare with.
	// +optional
	// +kubebuilder:default=20
	// +kubebuilder:validation:Minimum=4
	// +kubebuilder:validation:Maximum=50
	Against *int32 `json:"against,omitempty"`

	// tolerancePercent is the accepted change of a figure, in percent.
	// +optional
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	TolerancePercent *int32 `json:"tolerancePercent,omitempty"`

	// acceptedSince excludes runs that started before this time from the comparison. Set it after an intended change in
	// performance.
	// +optional
	// +nullable
	AcceptedSince *metav1.Time `json:"acceptedSince,omitempty"`
}

// StorageBenchmarkStatus is the verdict on the newest evaluated run. Its size is at most 16 KiB.
type StorageBenchmarkStatus struct {
	// observedGeneration is the generation that the status is based on; -1 before the operator has
	// processed the object.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are Ready, Reconciling, Stalled, Running and, with spec.regression, Regressed. They follow kstatus.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// stage is the current stage in one word, for display. Programs should read the conditions.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Stage string `json:"stage,omitempty"`

	// display holds the main figures as text, for kubectl get.
	// +optional
	Display *HeadlineDisplay `json:"display,omitempty"`

	// activeRun is the run that is in progress or queued. The reference is recorded before the run is created, and has no
	// uid until the run exists.
	// +optional
	ActiveRun *RunReference `json:"activeRun,omitempty"`

	// lastRun is the newest evaluated run, with its verdict. It remains when the run is deleted.
	// +optional
	LastRun *JudgedRun `json:"lastRun,omitempty"`

	// lastHandledRequest echoes the last handled value of the annotation
	// storagebench.dev/requested-at. A value of more than 128 characters is shortened and ends with
	// its hash.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	LastHandledRequest string `json:"lastHandledRequest,omitempty"`

	// lastHandledManual echoes the last handled value of spec.trigger.manual.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	LastHandledManual string `json:"lastHandledManual,omitempty"`

	// lastScheduleTime is the newest scheduled time that was handled, either by creating a run or by skipping it.
	// +optional
	LastScheduleTime *metav1.Time `json:"lastScheduleTime,omitempty"`

	// nextScheduleTime is the time of the next scheduled run. If it is in the past, a run is due but waits for the
	// current run to finish or for a missing reference to appear.
	// +optional
	NextScheduleTime *metav1.Time `json:"nextScheduleTime,omitempty"`

	// lastReplacedRun is the newest run that ended without a verdict, because it was stopped for
	// another run or preempted.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	LastReplacedRun string `json:"lastReplacedRun,omitempty"`

	// headlines are the main figures of lastRun, one entry per phase, target and operation.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Headlines []Headline `json:"headlines,omitempty"`

	// objectives are the verdicts on lastRun, one per objective.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Objectives []ObjectiveResult `json:"objectives,omitempty"`

	// regression is the comparison of lastRun with earlier runs.
	// +optional
	Regression *RegressionResult `json:"regression,omitempty"`

	// history is the data that later runs are compared with. It remains when the runs are deleted.
	// +optional
	History *ComparedHistory `json:"history,omitempty"`
}

// RunReference refers to a BenchmarkRun in the same namespace.
type RunReference struct {
	// name is the name of the BenchmarkRun.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// uid is the UID of the BenchmarkRun.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid,omitempty"`

	// hash is the hash that spec.run had when the run was created.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Hash string `json:"hash,omitempty"`
}

// JudgedRun is a run that has ended, with its verdict.
type JudgedRun struct {
	RunReference `json:",inline"`

	// reason is Passed, or the reason why the run did not pass. Ready has the same reason, unless spec.run has changed
	// or cannot be run.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Reason string `json:"reason,omitempty"`

	// message explains the reason.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`

	// policyHash is the hash of the objectives and the regression policy that the verdict is based
	// on.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	PolicyHash string `json:"policyHash,omitempty"`
}

// HeadlineDisplay holds one figure of a run as text. Programs should read the integer figures instead.
type HeadlineDisplay struct {
	// result is the figure with its unit; MB is 10^6 bytes.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Result string `json:"result,omitempty"`

	// figure identifies the result, as PHASE: FIGURE or, with several targets, PHASE/TARGET: FIGURE, such as "burst:
	// baseline" or "reads/ssd: read".
	// +optional
	// +kubebuilder:validation:MaxLength=160
	Figure string `json:"figure,omitempty"`

	// p99 is the 99th percentile latency of the operations that result covers, with its unit.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	P99 string `json:"p99,omitempty"`
}

// Headline holds the main figures of one operation in one phase on one target.
type Headline struct {
	// phase is the name of the phase.
	// +required
	// +kubebuilder:validation:MaxLength=40
	Phase string `json:"phase"`

	// target is the name of the target.
	// +required
	// +kubebuilder:validation:MaxLength=40
	Target string `json:"target"`

	// operation is the kind of operation.
	// +required
	Operation Operation `json:"operation"`

	// bytesPerSecond is the throughput of all clients in the common window. For a drain whose credits ran out, it is
	// the baseline. Unset for operations that move no data, such as Create.
	// +optional
	BytesPerSecond *int64 `json:"bytesPerSecond,omitempty"`

	// iopsMilli is the rate in thousandths of an operation per second. For a drain whose credits ran out, it is the
	// baseline.
	// +optional
	IOPSMilli *int64 `json:"iopsMilli,omitempty"`

	// p99Nanoseconds is the 99th percentile of the latency. Unset for a drain whose credits ran out, and if fewer than
	// ten samples lie above it.
	// +optional
	P99Nanoseconds *int64 `json:"p99Nanoseconds,omitempty"`
}
