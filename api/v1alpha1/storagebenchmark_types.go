package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StorageBenchmark asks for a storage benchmark: what to run, when to run it,
// and which figures are good enough.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=sbench,categories=storagebench
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Stage",type=string,JSONPath=`.status.stage`
// +kubebuilder:printcolumn:name="Throughput",type=string,JSONPath=`.status.display.throughput`
// +kubebuilder:printcolumn:name="p99",type=string,JSONPath=`.status.display.p99`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
//
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 40",message="metadata.name: at most 40 characters, since the names of pods derive from it; choose a shorter name"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name: use lower-case letters, digits and dashes only, no dots, since it becomes a label and part of the names of pods"
type StorageBenchmark struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object's metadata. The name has at most 40
	// characters and is a DNS label, because the names of pods derive from it.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is wanted.
	// +required
	Spec StorageBenchmarkSpec `json:"spec"`

	// status is what is known: the verdict and a reference to the newest run.
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

// StorageBenchmarkSpec says what to run (run) and, around it, when to run it
// and how to judge it. Only a change of run asks for a new run by itself.
//
// +kubebuilder:validation:XValidation:rule="!has(self.objectives) || self.objectives.all(o, self.run.phases.exists(p, p.name == o.phase))",message="objectives: phase must be the name of one of run.phases; correct the name"
// +kubebuilder:validation:XValidation:rule="!has(self.objectives) || self.objectives.all(o, !has(o.target) || self.run.targets.exists(t, t.name == o.target))",message="objectives: target must be the name of one of run.targets; correct the name, or remove it to judge each target"
type StorageBenchmarkSpec struct {
	// trigger says what starts a run beside a change of spec.run.
	// +optional
	Trigger *Trigger `json:"trigger,omitempty"`

	// suspend keeps new runs from being started. A live run goes on and is
	// judged when it ends; delete it to stop it. What asks for a run in the
	// meantime, such as a new value of trigger.manual, starts one run once
	// suspend is false again.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`

	// queue names a queue of this namespace, or one over namespaces where the
	// operator's flag --shared-queues lists it. Runs of one queue never
	// overlap, which keeps two benchmarks off the same storage server.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="use lower-case letters, digits and dashes only, beginning and ending with a letter or a digit"
	Queue string `json:"queue,omitempty"`

	// historyLimit is how many complete runs are kept.
	// +optional
	// +kubebuilder:default=20
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=200
	HistoryLimit *int32 `json:"historyLimit,omitempty"`

	// failedHistoryLimit is how many failed runs are kept.
	// +optional
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=200
	FailedHistoryLimit *int32 `json:"failedHistoryLimit,omitempty"`

	// objectives are the figures that have to be reached. A change of them
	// judges the stored results again and starts nothing.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, b.name == a.name))",message="objectives: names must differ; rename one"
	Objectives []Objective `json:"objectives,omitempty"`

	// regression compares each run with earlier ones.
	// +optional
	Regression *RegressionPolicy `json:"regression,omitempty"`

	// run is all that a run freezes; its hash is the run's identity.
	// +required
	Run RunSpec `json:"run"`
}

// ReplacePolicy says what happens to a live run when another is asked for.
//
// +kubebuilder:validation:Enum=Wait;Stop
type ReplacePolicy string

// The replace policies.
const (
	// ReplaceWait starts the new run after the live one.
	ReplaceWait ReplacePolicy = "Wait"
	// ReplaceStop stops the live run first.
	ReplaceStop ReplacePolicy = "Stop"
)

// Trigger says what starts a run. With a schedule its times do, and a change
// of spec.run waits for the next one; without, each new hash of spec.run does.
//
// +kubebuilder:validation:XValidation:rule="has(self.schedule) || !(has(self.timeZone) || has(self.startingDeadline))",message="trigger: timeZone and startingDeadline are of the schedule; set schedule, or remove them"
type Trigger struct {
	// schedule is a cron line of five fields, such as "0 3 * * 1".
	// +optional
	// +kubebuilder:validation:MinLength=9
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^ ]+( [^ ]+){4}$')",message="schedule: a cron line of five fields with single spaces between them, such as '0 3 * * 1'"
	Schedule string `json:"schedule,omitempty"`

	// timeZone is the IANA name of the zone of the schedule. Absent: UTC.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`

	// startingDeadline is how late a scheduled run may start; later it is
	// skipped. Absent: any delay.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.matches('[1-9]')",message="must be longer than zero; write a length of time such as 30s, or remove the field"
	StartingDeadline *Duration `json:"startingDeadline,omitempty"`

	// replacePolicy says what happens to a live run when another is due:
	// Wait (the default) lets it finish. Stop ends it, without a verdict, as
	// soon as what follows could start.
	// +optional
	ReplacePolicy ReplacePolicy `json:"replacePolicy,omitempty"`

	// manual is any text. A new value asks for one more run, so that a run
	// can be asked for from Git; status.lastHandledManual echoes it. Values
	// that change faster than runs are started are one request.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Manual string `json:"manual,omitempty"`

	// onProfileChange starts a run when a profile that spec.run refers to
	// changes.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == false",message="onProfileChange: not built yet in this version; remove it"
	OnProfileChange *bool `json:"onProfileChange,omitempty"`
}

// RegressionPolicy says what the newest run is compared with.
type RegressionPolicy struct {
	// against is how many earlier valid runs are compared with.
	// +optional
	// +kubebuilder:default=20
	// +kubebuilder:validation:Minimum=4
	// +kubebuilder:validation:Maximum=50
	Against *int32 `json:"against,omitempty"`

	// tolerancePercent is the change that is accepted, in percent.
	// +optional
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	TolerancePercent *int32 `json:"tolerancePercent,omitempty"`

	// acceptedSince leaves runs that started before it out of the comparison:
	// set it when a change of level is wanted.
	// +optional
	// +nullable
	AcceptedSince *metav1.Time `json:"acceptedSince,omitempty"`
}

// StorageBenchmarkStatus is the verdict on the newest judged run, at most
// 16 KiB. Conditions follow kstatus: Ready, Reconciling, Stalled, Running.
type StorageBenchmarkStatus struct {
	// observedGeneration is the generation that the status speaks of; -1
	// before the operator has seen the object.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are Ready, Reconciling, Stalled, Running and, with
	// spec.regression, Regressed.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// stage is what is going on, in a word, for people.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Stage string `json:"stage,omitempty"`

	// display is the headline as text, for kubectl get.
	// +optional
	Display *HeadlineDisplay `json:"display,omitempty"`

	// activeRun is the run that is live or waits in a queue. It is recorded
	// before the run is created, without a uid until then.
	// +optional
	ActiveRun *RunReference `json:"activeRun,omitempty"`

	// lastRun is the newest run that was judged, with its verdict. It stays
	// when the run is deleted.
	// +optional
	LastRun *JudgedRun `json:"lastRun,omitempty"`

	// lastHandledRequest echoes the annotation storagebench.dev/requested-at
	// that was handled last; one of over 128 characters is shortened, with
	// its hash at the end.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	LastHandledRequest string `json:"lastHandledRequest,omitempty"`

	// lastHandledManual echoes the spec.trigger.manual that was handled last.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	LastHandledManual string `json:"lastHandledManual,omitempty"`

	// lastScheduleTime is the newest time of the schedule that was handled: a
	// run was made for it, or it was skipped.
	// +optional
	LastScheduleTime *metav1.Time `json:"lastScheduleTime,omitempty"`

	// nextScheduleTime is when the schedule starts a run next. One in the
	// past is due, and waits for the live run or for what is missing.
	// +optional
	NextScheduleTime *metav1.Time `json:"nextScheduleTime,omitempty"`

	// lastReplacedRun is the newest run that ended without a verdict, since
	// it was stopped for another or preempted.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	LastReplacedRun string `json:"lastReplacedRun,omitempty"`

	// headlines are the main figures of lastRun, one a phase, target and
	// operation.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Headlines []Headline `json:"headlines,omitempty"`

	// objectives are the verdicts on lastRun, one an objective.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Objectives []ObjectiveResult `json:"objectives,omitempty"`

	// regression is the comparison of lastRun with earlier runs.
	// +optional
	Regression *RegressionResult `json:"regression,omitempty"`

	// history is what later runs are compared with. It stays when the runs are
	// deleted.
	// +optional
	History *ComparedHistory `json:"history,omitempty"`
}

// RunReference points to a BenchmarkRun of the same namespace.
type RunReference struct {
	// name of the BenchmarkRun.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// uid of the BenchmarkRun.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid,omitempty"`

	// hash of the spec.run that it froze.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Hash string `json:"hash,omitempty"`
}

// JudgedRun is a run that has ended, with its verdict.
type JudgedRun struct {
	RunReference `json:",inline"`

	// reason is Passed, or why the run is not good: the reason that Ready
	// has while nothing newer is known.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Reason string `json:"reason,omitempty"`

	// message says more about it.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`

	// policyHash is of the objectives and the regression policy that it was
	// judged by.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	PolicyHash string `json:"policyHash,omitempty"`
}

// HeadlineDisplay is the headline of the newest judged run as text. Programs
// read headlines, which holds integers.
type HeadlineDisplay struct {
	// throughput with its unit, MB being 10^6 bytes.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Throughput string `json:"throughput,omitempty"`

	// p99 is the 99th percentile of the latency with its unit.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	P99 string `json:"p99,omitempty"`
}

// Headline is the main figures of one operation of a phase and target.
type Headline struct {
	// phase is its name.
	// +required
	// +kubebuilder:validation:MaxLength=40
	Phase string `json:"phase"`

	// target is its name.
	// +required
	// +kubebuilder:validation:MaxLength=40
	Target string `json:"target"`

	// operation that the figures are of.
	// +required
	Operation Operation `json:"operation"`

	// bytesPerSecond over all clients, in the common window.
	// +optional
	BytesPerSecond int64 `json:"bytesPerSecond"`

	// iopsMilli is a thousand times the operations a second.
	// +optional
	IOPSMilli int64 `json:"iopsMilli"`

	// p99Nanoseconds is absent with fewer than ten samples above it.
	// +optional
	P99Nanoseconds *int64 `json:"p99Nanoseconds,omitempty"`
}
