package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BenchmarkRun is the record of one run: its frozen specification, its progress and its results.
// Later changes to a profile or a benchmark do not change past runs.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=sbrun,categories=storagebench
// +kubebuilder:printcolumn:name="Complete",type=string,JSONPath=`.status.conditions[?(@.type=="Complete")].status`
// +kubebuilder:printcolumn:name="Stage",type=string,JSONPath=`.status.stage`
// +kubebuilder:printcolumn:name="Result",type=string,JSONPath=`.status.display.result`
// +kubebuilder:printcolumn:name="p99",type=string,JSONPath=`.status.display.p99`
// +kubebuilder:printcolumn:name="Figure",type=string,JSONPath=`.status.display.figure`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Complete")].reason`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type BenchmarkRun struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the frozen specification of the run. It is immutable.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec is immutable: it records what the run did; for another run, change the StorageBenchmark"
	Spec BenchmarkRunSpec `json:"spec"`

	// status is the progress and the results of the run.
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

// BenchmarkRunSpec is the frozen specification of the run: the benchmark's spec.run with every reference resolved, and
// the steps derived from it.
//
// +kubebuilder:validation:XValidation:rule="!has(self.run.workload) || !has(self.run.workload.profileRef)",message="run.workload: profileRef is not allowed in a run; use the profile's spec"
// +kubebuilder:validation:XValidation:rule="self.run.phases.all(p, (!has(p.workload) || !has(p.workload.profileRef)) && (!has(p.targetWorkloads) || p.targetWorkloads.all(w, !has(w.workload.profileRef))))",message="run.phases: profileRef is not allowed in a run; use the profile's spec"
// +kubebuilder:validation:XValidation:rule="self.run.targets.all(t, !has(t.claimName)) && self.run.phases.all(p, !has(p.override) && !has(p.refill))",message="run: shorthand fields are not allowed; use volumes, workload and cooldown, not claimName, override and refill"
type BenchmarkRunSpec struct {
	// benchmarkRef is the benchmark of the run.
	// +required
	BenchmarkRef BenchmarkReference `json:"benchmarkRef"`

	// hash is the hash of the benchmark's spec.run. Runs with the same hash can be compared.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Hash string `json:"hash"`

	// seed is the random seed of the run. It determines, for example, the order of a sweep.
	// +required
	Seed int64 `json:"seed"`

	// run is the benchmark's spec.run, with each profileRef replaced by the profile's spec.
	// +required
	Run RunSpec `json:"run"`

	// format is the format version of the steps. An operator can conduct runs in its own format and in earlier ones. In
	// format 2, the steps contain everything needed to conduct the run. If unset, the format is 1, used by operator
	// versions before December 2026.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Format *int32 `json:"format,omitempty"`

	// datasetHash identifies the files that the run lays out, and their content. Unset in format 1.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	DatasetHash string `json:"datasetHash,omitempty"`

	// steps are the steps of the run, in order.
	// +required
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1024
	Steps []ResolvedStep `json:"steps"`

	// objectives are a copy of the benchmark's objectives, made when the run was created. status.objectives contains the
	// verdicts on them. The benchmark's status uses the current objectives instead.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Objectives []Objective `json:"objectives,omitempty"`

	// headline is a copy of the benchmark's spec.headline, made when the run was created.
	// +optional
	// +kubebuilder:validation:MaxLength=40
	Headline string `json:"headline,omitempty"`
}

// BenchmarkReference refers to a StorageBenchmark in the same namespace.
type BenchmarkReference struct {
	// name is the name of the benchmark.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	Name string `json:"name"`

	// uid is the UID of the benchmark.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid,omitempty"`
}

// ResolvedStep is one step of a run: a workload on one or more targets at the same time. Each target has the workload
// that the phase sets for it, with overrides applied.
type ResolvedStep struct {
	// id is unique in the run, and the same for every attempt of the step.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	ID string `json:"id"`

	// phase is the name of the step's phase.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	Phase string `json:"phase"`

	// kind is the kind of the step's phase.
	// +required
	Kind PhaseKind `json:"kind"`

	// purpose determines what the step does.
	// +required
	Purpose StepPurpose `json:"purpose"`

	// cell is the index of the cell in a sweep, or of the step in a ramp or search.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1023
	Cell *int32 `json:"cell,omitempty"`

	// confirms is true for a step that confirms the highest rate of a search.
	// +optional
	Confirms *bool `json:"confirms,omitempty"`

	// repeat is true for a cell that is run again to detect drift.
	// +optional
	Repeat *bool `json:"repeat,omitempty"`

	// targets are the targets to load together.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=40
	Targets []string `json:"targets"`

	// clients is the number of clients per target that take part in the step, starting with the lowest index. 0 if no
	// target is loaded.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Clients int32 `json:"clients"`

	// warmUp is the time under load before the measured time.
	// +optional
	WarmUp Duration `json:"warmUp,omitempty"`

	// duration is the maximum time for which the step measures or pauses. Unset if the step ends when its work is done,
	// or if its length depends on earlier measurements.
	// +optional
	Duration *Duration `json:"duration,omitempty"`

	// minDuration is the minimum length of a step whose end depends on its measurements.
	// +optional
	MinDuration *Duration `json:"minDuration,omitempty"`

	// maxDuration is the time limit of the step, counted from its start.
	// +required
	MaxDuration Duration `json:"maxDuration"`

	// overrides replace settings of the workload in this step, for example in a ramp or a sweep.
	// +optional
	Overrides *StepOverrides `json:"overrides,omitempty"`

	// processes is the number of MPI ranks per client, if the step is an MPI job.
	// +optional
	Processes *int32 `json:"processes,omitempty"`

	// layoutJobs is the largest job count of any step that uses the files; the files are laid out for this many jobs. Set
	// only if each job has its own files and a step raises the job count.
	// +optional
	LayoutJobs *int32 `json:"layoutJobs,omitempty"`

	// passes is the number of times that a Precondition step overwrites the data.
	// +optional
	Passes *int32 `json:"passes,omitempty"`

	// endWhenSteady ends the step once the rate has been steady long enough.
	// +optional
	EndWhenSteady *bool `json:"endWhenSteady,omitempty"`

	// untilCreditsPercent is the fill level of the burst credit bucket, in percent, at which an Idle step ends.
	// +optional
	UntilCreditsPercent *int32 `json:"untilCreditsPercent,omitempty"`

	// redrain is true for a Drain step that follows an Idle step to measure the refill.
	// +optional
	Redrain *bool `json:"redrain,omitempty"`

	// newBytes is the maximum space that each client of a target needs for this step, beyond the space that earlier
	// steps need.
	// +optional
	// +listType=map
	// +listMapKey=target
	// +kubebuilder:validation:MaxItems=16
	NewBytes []TargetBytes `json:"newBytes,omitempty"`
}

// TargetBytes is a number of bytes for one target.
type TargetBytes struct {
	// target is the name of the target.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	Target string `json:"target"`

	// bytes is the number of bytes.
	// +required
	// +kubebuilder:validation:Minimum=0
	Bytes int64 `json:"bytes"`
}

// StepPurpose is the purpose of a step.
//
// +kubebuilder:validation:Enum=Prepare;Precondition;Measure;Drain;Idle
type StepPurpose string

const (
	// StepPrepare lays out the data, and ends when all of it is written.
	StepPrepare StepPurpose = "Prepare"
	// StepPrecondition overwrites the data a fixed number of times.
	StepPrecondition StepPurpose = "Precondition"
	// StepMeasure loads the targets for a fixed time or a fixed amount of work.
	StepMeasure StepPurpose = "Measure"
	// StepDrain loads the targets until the burst credits are spent.
	StepDrain StepPurpose = "Drain"
	// StepIdle pauses the load.
	StepIdle StepPurpose = "Idle"
)

// StepOverrides replace values of a step's workload.
type StepOverrides struct {
	// jobs is the number of jobs per client.
	// +optional
	Jobs *int32 `json:"jobs,omitempty"`
	// queueDepth is the queue depth per job.
	// +optional
	QueueDepth *int32 `json:"queueDepth,omitempty"`
	// blockSize is the size of an operation in bytes.
	// +optional
	BlockSize *resource.Quantity `json:"blockSize,omitempty"`
	// readPercent is the percentage of operations that are reads.
	// +optional
	ReadPercent *int32 `json:"readPercent,omitempty"`
	// processes is the number of MPI ranks per client.
	// +optional
	Processes *int32 `json:"processes,omitempty"`
	// operation is the operation that a smallFiles step performs on each file.
	// +optional
	Operation Operation `json:"operation,omitempty"`
	// rate is the rate limit of each client.
	// +optional
	Rate *FioRateLimit `json:"rate,omitempty"`
}

// BenchmarkRunStatus is the progress and the results of the run. Its size is at most 64 KiB, or 384 KiB for runs of
// more than 64 steps. The state of the run is derived from the recorded times.
type BenchmarkRunStatus struct {
	// observedGeneration is the generation that the status is based on; -1 before the operator has
	// processed the object.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are Waiting, Complete, Failed, Valid, ObjectivesMet, DataRemoved and ObjectsDeleted.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// stage is the current stage in one word, for display. Programs should read the conditions.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Stage string `json:"stage,omitempty"`

	// message explains the stage, for example why a pod does not start.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Message string `json:"message,omitempty"`

	// display holds the main figures as text, for kubectl get.
	// +optional
	Display *HeadlineDisplay `json:"display,omitempty"`

	// live shows the current activity of the running step, updated every few seconds. It is absent after the run has
	// ended.
	// +optional
	Live *LiveFigures `json:"live,omitempty"`

	// startTime is the time at which the run started to create its pods.
	// +optional
	StartTime *metav1.MicroTime `json:"startTime,omitempty"`

	// endTime is the time at which the run completed or failed.
	// +optional
	EndTime *metav1.MicroTime `json:"endTime,omitempty"`

	// environments describe the detected properties of the clients, one entry per group of identical clients.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Environments []Environment `json:"environments,omitempty"`

	// storage describes each target as detected before the first step, with its documented limits.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Storage []StorageDescription `json:"storage,omitempty"`

	// steps record every attempt of every step that was started.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1024
	Steps []StepStatus `json:"steps,omitempty"`

	// phases are the results, one entry per phase that was started.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Phases []PhaseResult `json:"phases,omitempty"`

	// objectives are the verdicts, one per objective.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Objectives []ObjectiveResult `json:"objectives,omitempty"`

	// observations are the answers to spec.run.observations.
	// +optional
	Observations *Observations `json:"observations,omitempty"`

	// comparable holds the data needed to compare this run with others.
	// +optional
	Comparable *Comparable `json:"comparable,omitempty"`

	// warnings are the warnings about the whole run.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Warnings []Warning `json:"warnings,omitempty"`

	// lostClients records each loss of a client, and whether the client was replaced.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	LostClients []LostClient `json:"lostClients,omitempty"`

	// dataLeft lists the directories that could not be removed. It also lists raw devices on which data remains.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	DataLeft []DataLeft `json:"dataLeft,omitempty"`
}

// Environment describes a group of identical clients, as detected.
type Environment struct {
	// target is the target that these clients load.
	// +required
	// +kubebuilder:validation:MaxLength=40
	Target string `json:"target"`

	// clients is the number of clients in the group.
	// +required
	Clients int32 `json:"clients"`

	// agentVersion is the version of the agent.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	AgentVersion string `json:"agentVersion,omitempty"`

	// engine is the engine that runs the tool.
	// +optional
	Engine EngineKind `json:"engine,omitempty"`

	// toolVersion is the version that the tool reports.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	ToolVersion string `json:"toolVersion,omitempty"`

	// kernel is the kernel release.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Kernel string `json:"kernel,omitempty"`

	// architecture is the CPU architecture, such as amd64.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Architecture string `json:"architecture,omitempty"`

	// cpuMilli is the CPU that a client can use, in thousandths of a core.
	// +optional
	CPUMilli int64 `json:"cpuMilli,omitempty"`

	// memoryBytes is the memory that a client can use, in bytes.
	// +optional
	MemoryBytes int64 `json:"memoryBytes,omitempty"`

	// volumes are the mounted volumes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Volumes []MountedVolume `json:"volumes,omitempty"`
}

// MountedVolume describes a volume as mounted in a client.
type MountedVolume struct {
	// name is the name of the volume within the target.
	// +required
	// +kubebuilder:validation:MaxLength=40
	Name string `json:"name"`

	// fileSystem is the type of the file system, such as ext4, cifs or lustre.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	FileSystem string `json:"fileSystem,omitempty"`

	// source is the mounted device or remote share.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Source string `json:"source,omitempty"`

	// options are the mount options.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Options string `json:"options,omitempty"`

	// sizeBytes is the size of the file system.
	// +optional
	SizeBytes int64 `json:"sizeBytes,omitempty"`

	// freeBytes is the free space of the file system before the run.
	// +optional
	FreeBytes int64 `json:"freeBytes,omitempty"`

	// directIO reports whether a probe with O_DIRECT succeeded.
	// +optional
	DirectIO *bool `json:"directIO,omitempty"`
}

// StepState is the state of one attempt of a step.
//
// +kubebuilder:validation:Enum=Starting;Running;Succeeded;Failed;Skipped
type StepState string

// Values of StepState.
const (
	// StepStarting: the start time of the attempt is not set yet.
	StepStarting StepState = "Starting"
	// StepRunning: the start time is set, and the step has not ended.
	StepRunning StepState = "Running"
	// StepSucceeded: the result is recorded.
	StepSucceeded StepState = "Succeeded"
	// StepFailed: there is no result; the message gives the reason.
	StepFailed StepState = "Failed"
	// StepSkipped: the step was no longer needed.
	StepSkipped StepState = "Skipped"
)

// StepStatus is the record of one attempt of a step.
type StepStatus struct {
	// id is the ID of the step in spec.steps.
	// +required
	// +kubebuilder:validation:MaxLength=63
	ID string `json:"id"`

	// attempt is the number of the attempt, counted from 1.
	// +required
	// +kubebuilder:validation:Minimum=1
	Attempt int32 `json:"attempt"`

	// state is the state of the attempt.
	// +required
	State StepState `json:"state"`

	// startTime is the instant at which all agents start the load. It is recorded before the agents are notified.
	// +optional
	StartTime *metav1.MicroTime `json:"startTime,omitempty"`

	// offeredIOPS is the number of operations per second that a search chose for all clients of the target. It is
	// recorded before the agents are notified.
	// +optional
	OfferedIOPS *int64 `json:"offeredIOPS,omitempty"`

	// plannedEndTime is the planned end of the step. Unset if the end depends on the work or on the measurements.
	// +optional
	PlannedEndTime *metav1.MicroTime `json:"plannedEndTime,omitempty"`

	// deadline is the time at which the agents stop the load on their own.
	// +optional
	Deadline *metav1.MicroTime `json:"deadline,omitempty"`

	// concludedTime is the time at which the load was ended because the measurements were sufficient. It is recorded
	// before the agents are notified.
	// +optional
	ConcludedTime *metav1.MicroTime `json:"concludedTime,omitempty"`

	// conclusion explains why the measurements were sufficient.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Conclusion string `json:"conclusion,omitempty"`

	// firstIOTime is the start time of the first I/O of any client, including the warm-up.
	// +optional
	FirstIOTime *metav1.MicroTime `json:"firstIOTime,omitempty"`

	// measuredTime is the time at which the first client began to measure.
	// +optional
	MeasuredTime *metav1.MicroTime `json:"measuredTime,omitempty"`

	// lastIOTime is the time at which the last I/O of any client completed.
	// +optional
	LastIOTime *metav1.MicroTime `json:"lastIOTime,omitempty"`

	// io is the I/O of the step, one entry per target. It includes the warm-up and the operations in flight at the end,
	// because this I/O also spends credits.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	IO []StepIO `json:"io,omitempty"`

	// endTime is the time at which the result was recorded, after all agents had finished.
	// +optional
	EndTime *metav1.MicroTime `json:"endTime,omitempty"`

	// message explains why the attempt failed or was skipped.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

// StepIO is the I/O of one step on one target.
type StepIO struct {
	// target is the name of the target.
	// +required
	// +kubebuilder:validation:MaxLength=40
	Target string `json:"target"`
	// bytes is the number of bytes moved.
	// +optional
	Bytes int64 `json:"bytes"`
	// operations is the number of completed operations, not counting syncs, which spend no credits.
	// +optional
	Operations int64 `json:"operations"`
	// firstIOTime is the start time of the first I/O on the target. Unset if it is less than a second after the step's
	// firstIOTime.
	// +optional
	FirstIOTime *metav1.MicroTime `json:"firstIOTime,omitempty"`
	// lastIOTime is the time at which the last I/O on the target completed. Unset if it is less than a second before the
	// step's lastIOTime.
	// +optional
	LastIOTime *metav1.MicroTime `json:"lastIOTime,omitempty"`
	// creditPercentAtStart is the estimated fill level of the emptiest credit bucket when the step began, in percent.
	// Unset if the limits are unknown.
	// +optional
	CreditPercentAtStart *int32 `json:"creditPercentAtStart,omitempty"`
	// creditPercentAtEnd is the estimated fill level of the emptiest credit bucket when the step ended, in percent.
	// Unset if the limits are unknown.
	// +optional
	CreditPercentAtEnd *int32 `json:"creditPercentAtEnd,omitempty"`
}

// LostClient describes the loss of a client.
type LostClient struct {
	// target is the target that the client loaded.
	// +required
	// +kubebuilder:validation:MaxLength=40
	Target string `json:"target"`

	// client is the index of the client.
	// +required
	Client int32 `json:"client"`

	// step is the ID of the step during which the client was lost.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Step string `json:"step,omitempty"`

	// time is the time at which the loss was detected.
	// +optional
	Time *metav1.MicroTime `json:"time,omitempty"`

	// reason is the cause of the loss, as reported by the cluster or the connection.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Reason string `json:"reason,omitempty"`

	// replaced is true if another pod replaced the client.
	// +optional
	Replaced bool `json:"replaced,omitempty"`
}

// DataLeft is a directory of the run that could not be removed, or a raw device on which data of the run remains.
type DataLeft struct {
	// target is the name of the target.
	// +required
	// +kubebuilder:validation:MaxLength=40
	Target string `json:"target"`

	// volume is the name of the volume within the target.
	// +optional
	// +kubebuilder:validation:MaxLength=40
	Volume string `json:"volume,omitempty"`

	// path is the path on the volume. For a raw device, it is the path of the device in the client.
	// +required
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path"`

	// reason explains why the directory could not be removed. For a raw device, it also names the claim.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Reason string `json:"reason,omitempty"`
}
