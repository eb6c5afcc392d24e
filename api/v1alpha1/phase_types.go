package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
)

// Phase is one part of a run. Exactly one of the phase kinds is set.
//
// +kubebuilder:validation:XValidation:rule="!has(self.override) || !has(self.targetWorkloads)",message="override: applies to all targets; remove override or targetWorkloads",fieldPath=".override"
// +kubebuilder:validation:XValidation:rule="[has(self.prepare), has(self.ramp), has(self.sweep), has(self.steady), has(self.burstDrain), has(self.cooldown), has(self.refill), has(self.smallFiles), has(self.search), has(self.interference)].filter(x, x).size() == 1",message="set exactly one kind of phase: prepare, steady, ramp, sweep, burstDrain, cooldown, refill, smallFiles, search or interference"
type Phase struct {
	// name is the name of the phase. Results and objectives refer to it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="use lower-case letters, digits and dashes only, beginning and ending with a letter or a digit"
	Name string `json:"name"`

	// mode is Parallel if the targets are loaded together, Sequential if one after the other. Defaults to Parallel.
	// +optional
	Mode PhaseMode `json:"mode,omitempty"`

	// workload is the workload of this phase. Defaults to the workload of the run.
	// +optional
	Workload *Workload `json:"workload,omitempty"`

	// override changes some settings of the workload in this phase. The files stay the same, so that a phase can read what
	// another phase wrote. Only the field jobs, with fileSharing PerJob, changes them.
	// +optional
	Override *WorkloadOverride `json:"override,omitempty"`

	// targetWorkloads replace the workload for individual targets.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, b.target == a.target))",message="targetWorkloads: duplicate target; merge or remove the second"
	TargetWorkloads []TargetWorkload `json:"targetWorkloads,omitempty"`

	// expect names what the phase is meant to measure instead of the storage. ServerCache means the memory of the storage
	// server, and suppresses the warning that reads may have been served from this memory.
	// +optional
	Expect Expectation `json:"expect,omitempty"`

	// prepare lays out the data.
	// +optional
	Prepare *PreparePhase `json:"prepare,omitempty"`

	// ramp raises one load parameter in steps.
	// +optional
	Ramp *RampPhase `json:"ramp,omitempty"`

	// sweep measures all combinations of parameter values.
	// +optional
	Sweep *SweepPhase `json:"sweep,omitempty"`

	// steady measures a constant load and evaluates whether the rate was steady.
	// +optional
	Steady *SteadyPhase `json:"steady,omitempty"`

	// burstDrain loads the targets until the burst credits are spent.
	// +optional
	BurstDrain *BurstDrainPhase `json:"burstDrain,omitempty"`

	// cooldown pauses the load.
	// +optional
	Cooldown *CooldownPhase `json:"cooldown,omitempty"`

	// refill pauses the load, then drains the credits again. This is the only way to measure the refill.
	// +optional
	Refill *RefillPhase `json:"refill,omitempty"`

	// smallFiles measures how fast files are created, examined, written, read and deleted.
	// +optional
	SmallFiles *SmallFilesPhase `json:"smallFiles,omitempty"`

	// search finds the highest rate that meets an objective.
	// +optional
	Search *SearchPhase `json:"search,omitempty"`

	// interference measures how load on other targets slows down a target.
	// +optional
	Interference *InterferencePhase `json:"interference,omitempty"`
}

// PhaseMode determines whether a phase loads its targets together.
//
// +kubebuilder:validation:Enum=Parallel;Sequential
type PhaseMode string

// Possible values of PhaseMode.
const (
	PhaseParallel   PhaseMode = "Parallel"
	PhaseSequential PhaseMode = "Sequential"
)

// Expectation names what a phase is meant to measure.
//
// +kubebuilder:validation:Enum=ServerCache
type Expectation string

// ExpectServerCache marks a phase that reads from the memory of the storage server.
const ExpectServerCache Expectation = "ServerCache"

// PhaseKind is the kind of a phase, determined by which field of Phase is set. A refill phase has the kind Cooldown.
//
// +kubebuilder:validation:Enum=Prepare;Ramp;Sweep;Steady;BurstDrain;Cooldown;SmallFiles;Search;Interference
type PhaseKind string

// Possible values of PhaseKind.
const (
	PhasePrepare      PhaseKind = "Prepare"
	PhaseRamp         PhaseKind = "Ramp"
	PhaseSweep        PhaseKind = "Sweep"
	PhaseSteady       PhaseKind = "Steady"
	PhaseBurstDrain   PhaseKind = "BurstDrain"
	PhaseCooldown     PhaseKind = "Cooldown"
	PhaseSmallFiles   PhaseKind = "SmallFiles"
	PhaseSearch       PhaseKind = "Search"
	PhaseInterference PhaseKind = "Interference"
)

// Kind returns the kind of the phase, or "" if none is set. Admission ensures that exactly one is
// set.
func (p *Phase) Kind() PhaseKind {
	if kinds := p.Kinds(); len(kinds) > 0 {
		return kinds[0]
	}
	return ""
}

// Kinds returns all kinds that are set.
func (p *Phase) Kinds() []PhaseKind {
	var kinds []PhaseKind
	for _, kind := range []struct {
		set  bool
		kind PhaseKind
	}{
		{p.Prepare != nil, PhasePrepare},
		{p.Ramp != nil, PhaseRamp},
		{p.Sweep != nil, PhaseSweep},
		{p.Steady != nil, PhaseSteady},
		{p.BurstDrain != nil, PhaseBurstDrain},
		{p.Cooldown != nil, PhaseCooldown},
		{p.Refill != nil, PhaseCooldown},
		{p.SmallFiles != nil, PhaseSmallFiles},
		{p.Search != nil, PhaseSearch},
		{p.Interference != nil, PhaseInterference},
	} {
		if kind.set {
			kinds = append(kinds, kind.kind)
		}
	}
	return kinds
}

// TargetWorkload is the workload of one target in a phase.
type TargetWorkload struct {
	// target is the name of a target of the run.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	Target string `json:"target"`

	// workload is the workload of the target in this phase.
	// +required
	Workload Workload `json:"workload"`
}

// PreparePhase lays out the dataset and writes all of it, because reading blocks that were never written does not
// measure the storage.
type PreparePhase struct {
	// precondition is the number of times that the data is overwritten after the layout, with the workload's own block
	// size and pattern. Defaults to 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10
	Precondition *int32 `json:"precondition,omitempty"`

	// maxDuration is the maximum duration of the layout and, separately, of the overwriting. A step that takes longer
	// fails. If unset, only the run's activeDeadline limits it.
	// +optional
	MaxDuration *Duration `json:"maxDuration,omitempty"`
}

// SteadyPhase measures a constant load and evaluates whether the rate was steady.
type SteadyPhase struct {
	// duration is the measured time, after the warm-up. It is a maximum if endWhenSteady is true, and for command and
	// mdtest, which end when their work is done.
	// +required
	Duration Duration `json:"duration"`

	// warmUp is the time under load before measuring starts. If unset, there is no warm-up.
	// +optional
	WarmUp Duration `json:"warmUp,omitempty"`

	// endWhenSteady ends the phase early, once the rate has been steady for five one-minute windows.
	// +optional
	EndWhenSteady *bool `json:"endWhenSteady,omitempty"`
}

// RampDimension is the parameter that a ramp raises.
//
// +kubebuilder:validation:Enum=Clients;Jobs;QueueDepth;Processes
type RampDimension string

// Possible values of RampDimension.
const (
	RampClients    RampDimension = "Clients"
	RampJobs       RampDimension = "Jobs"
	RampQueueDepth RampDimension = "QueueDepth"
	RampProcesses  RampDimension = "Processes"
)

// RampPhase raises one load parameter in steps and reports the knee. The knee requires at least five steps.
type RampPhase struct {
	// dimension is the parameter to raise.
	// +required
	Dimension RampDimension `json:"dimension"`

	// steps are the values of the dimension, in ascending order.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=1000000000000
	// +kubebuilder:validation:XValidation:rule="self.isSorted() && self.all(a, self.exists_one(b, b == a))",message="steps: use increasing values, such as [1, 2, 4, 8]"
	Steps []int64 `json:"steps"`

	// stepDuration is the measured time of each step.
	// +required
	StepDuration Duration `json:"stepDuration"`

	// warmUp is the time under load before each step is measured. If unset, there is no warm-up.
	// +optional
	WarmUp Duration `json:"warmUp,omitempty"`
}

// Regime is the state of the burst credits in which a phase measures.
//
// +kubebuilder:validation:Enum=Burst;Baseline;Any
type Regime string

const (
	// RegimeBurst inserts pauses so that each cell starts with as many credits as it can spend. It needs
	// documented.throughput for every target, and is rejected if a full bucket is too small for a cell.
	RegimeBurst Regime = "Burst"
	// RegimeBaseline drains the credits first, unless the preceding phase drained them.
	RegimeBaseline Regime = "Baseline"
	// RegimeAny measures at any credit level.
	RegimeAny Regime = "Any"
)

// SweepPhase measures every combination of its axes' values, in a random order determined by the run's seed, and
// reports matrices.
type SweepPhase struct {
	// axes are the values to combine. They form at most 256 cells.
	// +required
	Axes SweepAxes `json:"axes"`

	// regime is the state of the burst credits in which the cells are measured. Burst inserts pauses between cells so
	// that each cell can burst; Baseline drains the credits first; Any ignores the credit level.
	// +required
	Regime Regime `json:"regime"`

	// stepDuration is the measured time of each cell.
	// +required
	StepDuration Duration `json:"stepDuration"`

	// warmUp is the time under load before each cell is measured. If unset, there is no warm-up.
	// +optional
	WarmUp Duration `json:"warmUp,omitempty"`
}

// SweepAxes are the values of each axis. For an absent axis, the workload's own value applies.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="(has(self.clients) ? self.clients.size() : 1) * (has(self.jobs) ? self.jobs.size() : 1) * (has(self.queueDepth) ? self.queueDepth.size() : 1) * (has(self.blockSize) ? self.blockSize.size() : 1) * (has(self.readPercent) ? self.readPercent.size() : 1) <= 256",message="axes: at most 256 cells (product of all axis lengths); shorten an axis, or split the phase in two"
// +kubebuilder:validation:XValidation:rule="[has(self.clients) ? self.clients : [], has(self.jobs) ? self.jobs : [], has(self.queueDepth) ? self.queueDepth : [], has(self.readPercent) ? self.readPercent : []].all(l, l.all(a, l.exists_one(b, b == a)))",message="axes: duplicate value; remove it"
type SweepAxes struct {
	// clients lists the client counts.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=1000
	Clients []int32 `json:"clients,omitempty"`

	// jobs lists the job counts per client. With fileSharing PerJob, the dataset is laid out for the largest count;
	// cells with fewer jobs use only part of it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=1024
	Jobs []int32 `json:"jobs,omitempty"`

	// queueDepth lists the queue depths per job.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=4096
	QueueDepth []int32 `json:"queueDepth,omitempty"`

	// blockSize lists the operation sizes, in bytes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:XValidation:rule="[string(self)].all(s, isQuantity(s) && !s.matches('[kMGTPE]$') && (quantity(s).isInteger() || s.endsWith('i')) && !quantity(s).isLessThan(quantity('512')) && !quantity(s).isGreaterThan(quantity('1Gi')))",messageExpression="string(self).matches('[kMGTPE]$') ? 'decimal; did you mean ' + string(self).replace('k', 'K') + 'i?' : 'a whole number of bytes from 512 to 1Gi, such as 4Ki'"
	BlockSize []resource.Quantity `json:"blockSize,omitempty"`

	// readPercent lists the read percentages.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Minimum=0
	// +kubebuilder:validation:items:Maximum=100
	ReadPercent []int32 `json:"readPercent,omitempty"`
}

// BurstDrainPhase loads the targets until the burst credits are spent and the throughput has
// settled at its baseline.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.minDuration) ? self.minDuration : '2m').matches('^([0-9]{1,5}h)?([0-9]{1,7}m)?([0-9]{1,8}s)?([0-9]{1,9}ms)?$') || !self.maxDuration.matches('^([0-9]{1,5}h)?([0-9]{1,7}m)?([0-9]{1,8}s)?([0-9]{1,9}ms)?$') || duration(has(self.minDuration) ? self.minDuration : '2m') <= duration(self.maxDuration)",message="maxDuration: cannot be shorter than minDuration (default 2m); raise it or lower minDuration",fieldPath=".maxDuration"
type BurstDrainPhase struct {
	// minDuration is the minimum length of the phase. It also determines how long a lower rate must last to count as
	// permanent: 70 % of minDuration, at least 8 and at most 85 seconds; 84 seconds with the default. Defaults to 2m.
	// +optional
	MinDuration Duration `json:"minDuration,omitempty"`

	// maxDuration is the maximum length of the phase. It is not an error if the credits last longer.
	// +required
	MaxDuration Duration `json:"maxDuration"`
}

// CooldownPhase pauses the load. Exactly one of duration, untilCredits and redrain is set.
//
// +kubebuilder:validation:XValidation:rule="[has(self.duration), has(self.untilCredits), has(self.redrain)].filter(x, x).size() == 1",message="cooldown: set exactly one of duration, untilCredits and redrain"
// +kubebuilder:validation:XValidation:rule="!has(self.duration) || !has(self.maxDuration)",message="maxDuration: applies only to untilCredits and redrain; remove it, or remove duration",fieldPath=".maxDuration"
type CooldownPhase struct {
	// duration is the length of the pause.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.matches('[1-9]')",message="must be longer than zero; use a duration such as 30s, or remove the field"
	Duration *Duration `json:"duration,omitempty"`

	// untilCredits pauses until the bucket should have refilled to this level, based on the target's limits or on the
	// refill that an earlier redrain measured. If neither is known, it pauses for maxDuration, or does not pause if
	// maxDuration is absent.
	// +optional
	UntilCredits *UntilCredits `json:"untilCredits,omitempty"`

	// redrain is the former way to specify a refill phase.
	// +optional
	Redrain *Redrain `json:"redrain,omitempty"`

	// maxDuration limits the pause of untilCredits, or the pause and the drain of redrain together. If unset, the drain
	// has the minDuration and maxDuration of the last burstDrain phase before this one.
	// +optional
	MaxDuration *Duration `json:"maxDuration,omitempty"`
}

// UntilCredits is a fill level of the credit bucket to wait for.
type UntilCredits struct {
	// percent is the fill level of the bucket, in percent.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Percent int32 `json:"percent"`
}

// Redrain is a pause followed by a second drain. A run stores a refill phase as a redrain.
type Redrain struct {
	// idle is the length of the pause before the drain.
	// +required
	// +kubebuilder:validation:XValidation:rule="self.matches('[1-9]')",message="must be longer than zero; use a duration such as 30s, or remove the field"
	Idle Duration `json:"idle"`
}

// RefillPhase is a pause followed by a second drain. It measures how fast credits come back.
type RefillPhase struct {
	// idle is the length of the pause before the drain.
	// +required
	// +kubebuilder:validation:XValidation:rule="self.matches('[1-9]')",message="must be longer than zero; use a duration such as 30s, or remove the field"
	Idle Duration `json:"idle"`

	// maxDuration limits the pause and the drain together. If unset, the drain may take as long as the last burstDrain
	// before this phase.
	// +optional
	MaxDuration *Duration `json:"maxDuration,omitempty"`
}

// SmallFilesPhase runs file operations on the files of a fio workload, one operation after the other. Each operation is
// a step: all clients start it together, and it ends when every file has been processed once. The phase creates its own
// files and does not touch those of a prepare phase. jobs and filesPerJob (numjobs and nrfiles in a job file) set the
// number of files; each job has its own directory. Each file is written or read by a single operation, whatever the
// workload's blockSize.
type SmallFilesPhase struct {
	// operations are the operations on each file, in order. Create makes empty files. Write creates files and writes them.
	// Before Create and Write, files left by earlier operations are removed; the removal is not measured. Stat reads the
	// attributes of a file, Read opens it and reads all of it, Delete removes it. Defaults to Create, Stat, Write, Read,
	// Delete.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=5
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, b == a))",message="operations: duplicate value; remove it, or use a second phase"
	// +kubebuilder:validation:XValidation:rule="self.all(a, a in ['Create', 'Write', 'Stat', 'Read', 'Delete'])",message="operations: use Create, Write, Stat, Read or Delete"
	// +kubebuilder:validation:XValidation:rule="self.size() == 0 || self[0] in ['Create', 'Write']",message="operations: no files exist yet; start with Create or Write"
	// +kubebuilder:validation:XValidation:rule="!('Read' in self) || 'Write' in self",message="operations: Read needs files with data; put Write before it"
	Operations []Operation `json:"operations,omitempty"`

	// maxDuration is the maximum duration of one operation on all files. A step that takes longer fails. If unset, only
	// the run's activeDeadline limits it.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}h)?([0-9]{1,7}m)?([0-9]{1,8}s)?([0-9]{1,9}ms)?$') || duration(self) >= duration('1s')",message="must be at least 1s: shorter steps measure nothing; use a time such as 60s"
	MaxDuration *Duration `json:"maxDuration,omitempty"`
}

// SearchPhase finds the highest rate of operations that meets an objective. Operations arrive at random (a Poisson
// process) whether or not earlier ones have completed, so a store that is too slow queues them. The search doubles the
// rate from rate.min until a step misses the objective, narrows the highest rate down by bisection, and confirms it in
// five steps. The search sets jobs, queueDepth and ioEngine itself. The workload must be fio with pattern Random and
// fileSharing Shared.
type SearchPhase struct {
	// objective is the condition that a rate must meet.
	// +required
	Objective SearchObjective `json:"objective"`

	// rate is the range of rates to try.
	// +required
	Rate SearchRate `json:"rate"`

	// precisionPercent ends the bisection once the lowest rate that missed the objective is at most this percentage
	// above the highest rate that met it. Defaults to 2.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=50
	PrecisionPercent *int32 `json:"precisionPercent,omitempty"`

	// regime is the state of the burst credits during the search. Baseline drains the credits first and tries no rate
	// above the baseline that the drain measured. Any ignores the credit level, so the result may be the burst rate.
	// +required
	// +kubebuilder:validation:XValidation:rule="self != 'Burst'",message="regime: must be Baseline or Any in a search phase"
	Regime Regime `json:"regime"`

	// stepDuration is the measured time of each step.
	// +required
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}h)?([0-9]{1,7}m)?([0-9]{1,8}s)?([0-9]{1,9}ms)?$') || duration(self) >= duration('1s')",message="must be at least 1s: shorter steps measure nothing; use a time such as 60s"
	StepDuration Duration `json:"stepDuration"`

	// warmUp is the time under load before each step is measured. It lets the jobs desynchronize. Defaults to 5s.
	// +optional
	WarmUp Duration `json:"warmUp,omitempty"`
}

// SearchObjective is the condition that a rate has to meet.
type SearchObjective struct {
	// latency bounds a percentile of the latency of each kind of operation.
	// +required
	Latency SearchLatency `json:"latency"`
}

// SearchLatency bounds a percentile of the latency.
type SearchLatency struct {
	// percentile is the percentile to bound, such as 99 or 99.9.
	// +required
	// +kubebuilder:validation:MaxLength=8
	// +kubebuilder:validation:XValidation:rule="self.matches('^[1-9][0-9]?([.][0-9]{1,4})?$')",message="percentile: use a number from 1 to below 100 with at most four decimals, such as 99.9"
	Percentile string `json:"percentile"`

	// max is the longest accepted latency, such as 5ms or 500us.
	// +required
	Max ShortDuration `json:"max"`
}

// SearchRate is the range of rates of a search, in operations per second over all clients of a target.
//
// +kubebuilder:validation:XValidation:rule="!has(self.min) || self.min <= self.max",message="max: cannot be below min; swap the two",fieldPath=".max"
type SearchRate struct {
	// min is the first rate. Defaults to the lowest rate at which a step has enough operations for the percentile.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000000
	Min *int64 `json:"min,omitempty"`

	// max is the highest rate to try.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000000
	Max int64 `json:"max"`
}

// InterferencePhase measures each victim alternately alone and beside its neighbours: all other victims and the
// aggressors. Each repetition has one block for each victim alone and one for each number of neighbours. Every second
// repetition runs its blocks in reverse order, so that drift cancels out.
type InterferencePhase struct {
	// victims are the targets to measure both alone and beside other targets. Without aggressors, at least two victims
	// are required, and the result also shows how evenly they share the storage.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=40
	Victims []string `json:"victims"`

	// aggressors are the targets that are loaded only to disturb the victims.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=15
	// +kubebuilder:validation:items:MaxLength=40
	Aggressors []string `json:"aggressors,omitempty"`

	// neighbours are the numbers of aggressors to load beside the victims, in ascending order, such as [1, 2, 4]. Each
	// number uses the first aggressors of the list. Defaults to all aggressors.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=15
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=15
	Neighbours []int32 `json:"neighbours,omitempty"`

	// repetitions is the number of times that each block is measured. It must be even. Defaults to 6.
	// +optional
	// +kubebuilder:validation:Minimum=4
	// +kubebuilder:validation:Maximum=64
	// +kubebuilder:validation:MultipleOf=2
	Repetitions *int32 `json:"repetitions,omitempty"`

	// regime is the state of the burst credits during the blocks. Baseline first drains the credits of all targets
	// together. Any ignores the credit level.
	// +required
	// +kubebuilder:validation:XValidation:rule="self != 'Burst'",message="regime: must be Baseline or Any in an interference phase"
	Regime Regime `json:"regime"`

	// blockDuration is the measured time of each block.
	// +required
	BlockDuration Duration `json:"blockDuration"`

	// warmUp is the time under load before each block is measured. Defaults to 5s.
	// +optional
	WarmUp Duration `json:"warmUp,omitempty"`
}
