package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BenchmarkRun is the record of one run: what was frozen, what happened, and
// the results. A later edit of a profile or a benchmark changes no past run.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=sbrun,categories=storagebench
// +kubebuilder:printcolumn:name="Complete",type=string,JSONPath=`.status.conditions[?(@.type=="Complete")].status`
// +kubebuilder:printcolumn:name="Stage",type=string,JSONPath=`.status.stage`
// +kubebuilder:printcolumn:name="Throughput",type=string,JSONPath=`.status.display.throughput`
// +kubebuilder:printcolumn:name="p99",type=string,JSONPath=`.status.display.p99`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type BenchmarkRun struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the run froze. It is immutable.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec is immutable: it records what the run did; make another run by changing the StorageBenchmark"
	Spec BenchmarkRunSpec `json:"spec"`

	// status is what happened and what came out.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status BenchmarkRunStatus `json:"status,omitzero"`
}

// BenchmarkRunList is a list of BenchmarkRuns.
//
// +kubebuilder:object:root=true
type BenchmarkRunList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BenchmarkRun `json:"items"`
}

// BenchmarkRunSpec is what the run froze: the benchmark's spec.run with every
// reference resolved, and the steps that follow from it.
//
// +kubebuilder:validation:XValidation:rule="!has(self.run.workload) || !has(self.run.workload.profileRef)",message="run.workload: a run holds no profileRef; put the profile's spec in its place"
// +kubebuilder:validation:XValidation:rule="self.run.phases.all(p, (!has(p.workload) || !has(p.workload.profileRef)) && (!has(p.targetWorkloads) || p.targetWorkloads.all(w, !has(w.workload.profileRef))))",message="run.phases: a run holds no profileRef; put the profile's spec in its place"
type BenchmarkRunSpec struct {
	// benchmarkRef is the benchmark that asked for the run.
	// +required
	BenchmarkRef BenchmarkReference `json:"benchmarkRef"`

	// hash of the benchmark's spec.run: runs with one hash can be compared.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Hash string `json:"hash"`

	// seed of everything random in the run, such as the order of a sweep.
	// +required
	Seed int64 `json:"seed"`

	// run is the benchmark's spec.run; workloads hold no profileRef any more.
	// +required
	Run RunSpec `json:"run"`

	// format of the steps. An operator conducts runs of its own format and of
	// those before it. 2: the steps hold all that they are conducted from.
	// Absent: 1, of operators before 2026-12.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Format *int32 `json:"format,omitempty"`

	// datasetHash names the files and the content that the run lays out.
	// Absent in format 1.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	DatasetHash string `json:"datasetHash,omitempty"`

	// steps of the run, in order. The run is conducted from them.
	// +required
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1024
	Steps []ResolvedStep `json:"steps"`

	// objectives of the benchmark when the run was made: status.objectives is
	// by these. The benchmark's own status is by those that it has now.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Objectives []Objective `json:"objectives,omitempty"`
}

// BenchmarkReference points to a StorageBenchmark of the same namespace.
type BenchmarkReference struct {
	// name of the benchmark.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	Name string `json:"name"`

	// uid of the benchmark.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid,omitempty"`
}

// ResolvedStep is one step of a run: one workload on some targets at a time.
// The workload is that of the phase (and target), with the overrides.
type ResolvedStep struct {
	// id is unique in the run and the same for every attempt of the step.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	ID string `json:"id"`

	// phase is the name of the phase that the step belongs to.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	Phase string `json:"phase"`

	// kind of that phase.
	// +required
	Kind PhaseKind `json:"kind"`

	// purpose is what the step is for.
	// +required
	Purpose StepPurpose `json:"purpose"`

	// cell is the index of the sweep's cell or the ramp's step.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1023
	Cell *int32 `json:"cell,omitempty"`

	// repeat marks a cell that is run again to find drift.
	// +optional
	Repeat *bool `json:"repeat,omitempty"`

	// targets that are loaded, together.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=40
	Targets []string `json:"targets"`

	// clients of each target that take part: those with the lowest indexes; 0
	// where nothing is loaded.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Clients int32 `json:"clients"`

	// warmUp before the measured time.
	// +optional
	WarmUp Duration `json:"warmUp,omitempty"`

	// duration that is measured, or idled, at most. Absent: the step ends with
	// its work, or its length follows from what was measured before.
	// +optional
	Duration *Duration `json:"duration,omitempty"`

	// minDuration before a step that ends by what it measures may end.
	// +optional
	MinDuration *Duration `json:"minDuration,omitempty"`

	// maxDuration ends the step whatever it does, counted from its start.
	// +required
	MaxDuration Duration `json:"maxDuration"`

	// overrides replace values of the workload, in a ramp or a sweep.
	// +optional
	Overrides *StepOverrides `json:"overrides,omitempty"`

	// processes are the MPI ranks of each client, where the step is a job of
	// MPI.
	// +optional
	Processes *int32 `json:"processes,omitempty"`

	// layoutJobs is the number of jobs that files of their own are laid out
	// for, where a phase raises the jobs.
	// +optional
	LayoutJobs *int32 `json:"layoutJobs,omitempty"`

	// passes over the data of a Precondition.
	// +optional
	Passes *int32 `json:"passes,omitempty"`

	// endWhenSteady lets the step end as soon as it was steady for long enough.
	// +optional
	EndWhenSteady *bool `json:"endWhenSteady,omitempty"`

	// untilCreditsPercent is the balance of burst credits that an Idle step
	// waits for.
	// +optional
	UntilCreditsPercent *int32 `json:"untilCreditsPercent,omitempty"`

	// redrain marks the Drain after an Idle step that measures the refill.
	// +optional
	Redrain *bool `json:"redrain,omitempty"`

	// newBytes is the free space that each client of a target needs at most,
	// beyond that of the steps before.
	// +optional
	// +listType=map
	// +listMapKey=target
	// +kubebuilder:validation:MaxItems=16
	NewBytes []TargetBytes `json:"newBytes,omitempty"`
}

// TargetBytes is a number of bytes on a target.
type TargetBytes struct {
	// target that it is of.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	Target string `json:"target"`

	// bytes on it.
	// +required
	// +kubebuilder:validation:Minimum=0
	Bytes int64 `json:"bytes"`
}

// StepPurpose is what a step is for.
//
// +kubebuilder:validation:Enum=Prepare;Precondition;Measure;Drain;Idle
type StepPurpose string

// The purposes of steps.
const (
	// StepPrepare lays data out: a fixed amount of work.
	StepPrepare StepPurpose = "Prepare"
	// StepPrecondition overwrites the data: a fixed amount of work.
	StepPrecondition StepPurpose = "Precondition"
	// StepMeasure loads for a fixed time.
	StepMeasure StepPurpose = "Measure"
	// StepDrain loads until the burst credits are gone.
	StepDrain StepPurpose = "Drain"
	// StepIdle loads nothing for a time.
	StepIdle StepPurpose = "Idle"
)

// StepOverrides replace values of a step's workload.
type StepOverrides struct {
	// jobs a client.
	// +optional
	Jobs *int32 `json:"jobs,omitempty"`
	// queueDepth a job.
	// +optional
	QueueDepth *int32 `json:"queueDepth,omitempty"`
	// blockSize in bytes.
	// +optional
	BlockSize *resource.Quantity `json:"blockSize,omitempty"`
	// readPercent of the operations.
	// +optional
	ReadPercent *int32 `json:"readPercent,omitempty"`
	// processes are MPI ranks a client.
	// +optional
	Processes *int32 `json:"processes,omitempty"`
	// rate of each client.
	// +optional
	Rate *FioRateLimit `json:"rate,omitempty"`
}

// BenchmarkRunStatus is what happened in the run and what came out, at most
// 64 KiB; 384 KiB for runs of more than 64 steps. Times are facts as they were recorded; everything else derives from
// them.
type BenchmarkRunStatus struct {
	// observedGeneration is the generation that the status speaks of; -1
	// before the operator has seen the object.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are Complete, Failed, Valid, ObjectivesMet and DataRemoved.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// stage is what is going on, in a word, for people.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Stage string `json:"stage,omitempty"`

	// message says more about the stage, such as why a pod does not start.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Message string `json:"message,omitempty"`

	// display is the headline as text, for kubectl get.
	// +optional
	Display *HeadlineDisplay `json:"display,omitempty"`

	// live is what the running step does at present, written every three
	// seconds. It is no result, and is absent when the run has ended.
	// +optional
	Live *LiveFigures `json:"live,omitempty"`

	// startTime is when the run began to make its pods.
	// +optional
	StartTime *metav1.MicroTime `json:"startTime,omitempty"`

	// endTime is when the run was complete or failed.
	// +optional
	EndTime *metav1.MicroTime `json:"endTime,omitempty"`

	// environments are the clients as they were found, one entry for all
	// clients that are alike.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Environments []Environment `json:"environments,omitempty"`

	// storage is what each target was found to be and is documented to do, as it
	// was before the first step.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Storage []StorageDescription `json:"storage,omitempty"`

	// steps are the facts about each step that was begun.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1024
	Steps []StepStatus `json:"steps,omitempty"`

	// phases are the results, one a phase that was begun.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Phases []PhaseResult `json:"phases,omitempty"`

	// objectives are the verdicts, one an objective.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Objectives []ObjectiveResult `json:"objectives,omitempty"`

	// comparable is what other runs are compared with this one by.
	// +optional
	Comparable *Comparable `json:"comparable,omitempty"`

	// warnings about the whole run.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Warnings []Warning `json:"warnings,omitempty"`

	// lostClients are clients that were lost, with what was done about it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	LostClients []LostClient `json:"lostClients,omitempty"`

	// dataLeft are directories that could not be removed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	DataLeft []DataLeft `json:"dataLeft,omitempty"`
}

// Environment is what clients that are alike were found to be.
type Environment struct {
	// target of these clients.
	// +required
	// +kubebuilder:validation:MaxLength=40
	Target string `json:"target"`

	// clients is the number of them.
	// +required
	Clients int32 `json:"clients"`

	// agentVersion is the version of the agent.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	AgentVersion string `json:"agentVersion,omitempty"`

	// engine that the version is of.
	// +optional
	Engine EngineKind `json:"engine,omitempty"`

	// toolVersion is what the tool says of itself.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	ToolVersion string `json:"toolVersion,omitempty"`

	// kernel release.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Kernel string `json:"kernel,omitempty"`

	// architecture, such as amd64.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Architecture string `json:"architecture,omitempty"`

	// cpuMilli is the CPU that a client may use, in thousandths of a core.
	// +optional
	CPUMilli int64 `json:"cpuMilli,omitempty"`

	// memoryBytes that a client may use.
	// +optional
	MemoryBytes int64 `json:"memoryBytes,omitempty"`

	// volumes as they are mounted.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Volumes []MountedVolume `json:"volumes,omitempty"`
}

// MountedVolume is a volume as a client sees it.
type MountedVolume struct {
	// name of the volume within the target.
	// +required
	// +kubebuilder:validation:MaxLength=40
	Name string `json:"name"`

	// fileSystem type, such as ext4, cifs or lustre.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	FileSystem string `json:"fileSystem,omitempty"`

	// source of the mount.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Source string `json:"source,omitempty"`

	// options of the mount.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Options string `json:"options,omitempty"`

	// sizeBytes of the file system.
	// +optional
	SizeBytes int64 `json:"sizeBytes,omitempty"`

	// freeBytes of the file system before the run.
	// +optional
	FreeBytes int64 `json:"freeBytes,omitempty"`

	// directIO reports whether O_DIRECT worked when it was probed.
	// +optional
	DirectIO *bool `json:"directIO,omitempty"`
}

// StepState is how far a step has come.
//
// +kubebuilder:validation:Enum=Starting;Running;Collecting;Succeeded;Failed;Skipped
type StepState string

// The states of a step.
const (
	// StepStarting: the intent is recorded, the agents are told.
	StepStarting StepState = "Starting"
	// StepRunning: the agents do I/O.
	StepRunning StepState = "Running"
	// StepCollecting: the I/O is over, results are on their way.
	StepCollecting StepState = "Collecting"
	// StepSucceeded: the result is recorded.
	StepSucceeded StepState = "Succeeded"
	// StepFailed: there is no result, the message says why.
	StepFailed StepState = "Failed"
	// StepSkipped: the step was not needed any more.
	StepSkipped StepState = "Skipped"
)

// StepStatus is the facts about one attempt of one step.
type StepStatus struct {
	// id of the step in spec.steps.
	// +required
	// +kubebuilder:validation:MaxLength=63
	ID string `json:"id"`

	// attempt counts from 1.
	// +required
	// +kubebuilder:validation:Minimum=1
	Attempt int32 `json:"attempt"`

	// state of the attempt.
	// +required
	State StepState `json:"state"`

	// startTime is the instant at which all agents were told to begin. It is
	// recorded before they are.
	// +optional
	StartTime *metav1.MicroTime `json:"startTime,omitempty"`

	// plannedEndTime is when the step was to end. Absent where that was not
	// known: it ends with its work, or by what it measures.
	// +optional
	PlannedEndTime *metav1.MicroTime `json:"plannedEndTime,omitempty"`

	// deadline is when the agents stop by themselves.
	// +optional
	Deadline *metav1.MicroTime `json:"deadline,omitempty"`

	// concludedTime is when the load was ended since enough was measured. It
	// is recorded before the agents are told.
	// +optional
	ConcludedTime *metav1.MicroTime `json:"concludedTime,omitempty"`

	// conclusion says what was enough.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Conclusion string `json:"conclusion,omitempty"`

	// firstIOTime is when the first client began its first I/O, warm-up
	// included.
	// +optional
	FirstIOTime *metav1.MicroTime `json:"firstIOTime,omitempty"`

	// measuredTime is when the first client began to measure.
	// +optional
	MeasuredTime *metav1.MicroTime `json:"measuredTime,omitempty"`

	// lastIOTime is when the last client's last I/O was complete.
	// +optional
	LastIOTime *metav1.MicroTime `json:"lastIOTime,omitempty"`

	// io is what was done, one entry a target, warm-up and what was in flight
	// at the end included: all of it spends credits.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	IO []StepIO `json:"io,omitempty"`

	// endTime is when the last agent was done and the result was recorded.
	// +optional
	EndTime *metav1.MicroTime `json:"endTime,omitempty"`

	// message says why the attempt failed or was skipped.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

// StepIO is what one step did on one target.
type StepIO struct {
	// target of the I/O.
	// +required
	// +kubebuilder:validation:MaxLength=40
	Target string `json:"target"`
	// bytes read and written.
	// +optional
	Bytes int64 `json:"bytes"`
	// operations read and written.
	// +optional
	Operations int64 `json:"operations"`
	// creditPercentAtStart is the estimated fill of the bucket of bytes, where
	// its limits are known.
	// +optional
	CreditPercentAtStart *int32 `json:"creditPercentAtStart,omitempty"`
	// creditPercentAtEnd is the estimated fill of the bucket of bytes, where
	// its limits are known.
	// +optional
	CreditPercentAtEnd *int32 `json:"creditPercentAtEnd,omitempty"`
}

// LostClient is a client that was lost.
type LostClient struct {
	// target of the client.
	// +required
	// +kubebuilder:validation:MaxLength=40
	Target string `json:"target"`

	// client is its index.
	// +required
	Client int32 `json:"client"`

	// step during which it was lost.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Step string `json:"step,omitempty"`

	// time at which the loss was noticed.
	// +optional
	Time *metav1.MicroTime `json:"time,omitempty"`

	// reason as the cluster or the connection tells it.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Reason string `json:"reason,omitempty"`

	// replaced reports whether a replacement took its place.
	// +optional
	Replaced bool `json:"replaced,omitempty"`
}

// DataLeft is a directory of the run that could not be removed.
type DataLeft struct {
	// target that holds it.
	// +required
	// +kubebuilder:validation:MaxLength=40
	Target string `json:"target"`

	// volume of the target.
	// +optional
	// +kubebuilder:validation:MaxLength=40
	Volume string `json:"volume,omitempty"`

	// path on the volume.
	// +required
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path"`

	// reason that it is still there.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Reason string `json:"reason,omitempty"`
}
