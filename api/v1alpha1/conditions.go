package v1alpha1

// Conditions of a StorageBenchmark. They follow kstatus, so that Argo CD, Flux
// and kubectl wait can gate on the verdict.
const (
	// ConditionReady is True when the newest judged run is complete, valid,
	// met its objectives and shows no regression; False when it is not; and
	// Unknown when the present spec.run is not judged yet.
	ConditionReady = "Ready"
	// ConditionReconciling is True while the present spec.run is not judged
	// yet, else absent.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True when the verdict is bad, the workload cannot
	// be run, or a reference is missing for longer than startTimeout, else
	// absent. It precedes Reconciling in the list: kstatus takes the first
	// of the two that is True.
	ConditionStalled = "Stalled"
	// ConditionRunning is True while a run is live or queued.
	ConditionRunning = "Running"
	// ConditionRegressed is True when the newest judged runs are worse than
	// earlier ones, False when they are not, and Unknown with fewer than four
	// earlier runs to compare with. Absent without spec.regression.
	ConditionRegressed = "Regressed"
)

// Conditions of a BenchmarkRun. Complete and Failed exclude each other.
const (
	// ConditionWaiting is True while the run waits for its turn or for quota,
	// with whom it waits for in the message, and False once its turn has come.
	ConditionWaiting = "Waiting"
	// ConditionComplete is True when every phase has its result.
	ConditionComplete = "Complete"
	// ConditionFailed is True when the run ended without all results.
	ConditionFailed = "Failed"
	// ConditionValid is True when no warning disqualifies the results.
	ConditionValid = "Valid"
	// ConditionObjectivesMet is True when every objective is met, False when
	// one is missed, Unknown when a figure for one is absent.
	ConditionObjectivesMet = "ObjectivesMet"
	// ConditionDataRemoved is True when the run's data is gone or kept on
	// purpose, False with the paths in status.dataLeft when not.
	ConditionDataRemoved = "DataRemoved"
)

// Reasons of Ready, Reconciling and Stalled of a StorageBenchmark. A failed
// run gives its own reason for Failed.
const (
	// ReasonPassed: the newest judged run is good.
	ReasonPassed = "Passed"
	// ReasonNotJudged: the present spec.run has no judged run yet.
	ReasonNotJudged = "NotJudged"
	// ReasonProfileNotFound: a profile that is referred to is missing.
	ReasonProfileNotFound = "ProfileNotFound"
	// ReasonClaimNotFound: a claim that is referred to is missing.
	ReasonClaimNotFound = "ClaimNotFound"
	// ReasonRunFailed: the newest run failed.
	ReasonRunFailed = "RunFailed"
	// ReasonRunInvalid: the newest run's results are disqualified.
	ReasonRunInvalid = "RunInvalid"
	// ReasonObjectiveMissed: an objective was missed.
	ReasonObjectiveMissed = "ObjectiveMissed"
	// ReasonRegressed: the newest runs are worse than earlier ones.
	ReasonRegressed = "Regressed"
	// ReasonSuspended: spec.suspend is true.
	ReasonSuspended = "Suspended"
	// ReasonRunNotCreated: the API server does not take the run, or its name
	// is in use; the message says why. It is tried again.
	ReasonRunNotCreated = "RunNotCreated"
)

// Reasons of Regressed of a StorageBenchmark, beside ReasonRegressed.
const (
	// ReasonNoChange: the newest runs are as good as earlier ones.
	ReasonNoChange = "NoChange"
	// ReasonImproved: they are better.
	ReasonImproved = "Improved"
	// ReasonTooFewRuns: there are fewer than four earlier runs of the same
	// spec.run on the same kind of storage that are valid.
	ReasonTooFewRuns = "TooFewRuns"
	// ReasonNotComparable: the newest run is not valid, or has no figure to
	// compare.
	ReasonNotComparable = "NotComparable"
)

// Reasons of Running of a StorageBenchmark.
const (
	// ReasonRunLive: a run does its steps.
	ReasonRunLive = "RunLive"
	// ReasonRunQueued: a run waits for another one on the same queue or volume.
	ReasonRunQueued = "RunQueued"
	// ReasonNoRun: nothing runs.
	ReasonNoRun = "NoRun"
)

// Reasons of Waiting of a BenchmarkRun.
const (
	// ReasonWaitsForQueue: another run of its queue is live or was first.
	ReasonWaitsForQueue = "WaitsForQueue"
	// ReasonWaitsForVolume: another run on one of its volumes is live or was
	// first.
	ReasonWaitsForVolume = "WaitsForVolume"
	// ReasonWaitsForQuota: Kueue has not admitted its clients yet.
	ReasonWaitsForQuota = "WaitsForQuota"
	// ReasonItsTurn: no run is ahead in the queue.
	ReasonItsTurn = "ItsTurn"
	// ReasonQuotaGranted: Kueue has admitted its clients.
	ReasonQuotaGranted = "QuotaGranted"
)

// Reasons of Complete and Failed of a BenchmarkRun.
const (
	// ReasonAllPhasesDone: every phase has its result.
	ReasonAllPhasesDone = "AllPhasesDone"
	// ReasonInProgress: the run goes on.
	ReasonInProgress = "InProgress"
	// ReasonStartTimeout: the clients were not ready in time.
	ReasonStartTimeout = "StartTimeout"
	// ReasonDeadlineExceeded: activeDeadline passed.
	ReasonDeadlineExceeded = "DeadlineExceeded"
	// ReasonStepFailed: a step failed.
	ReasonStepFailed = "StepFailed"
	// ReasonToolFailed: the tool could not run or reported an error.
	ReasonToolFailed = "ToolFailed"
	// ReasonInvalidWorkload: the tool refuses the workload, or we do.
	ReasonInvalidWorkload = "InvalidWorkload"
	// ReasonMountNotFound: a client's volume is not the mount it should be.
	ReasonMountNotFound = "MountNotFound"
	// ReasonClaimUnfit: a claim does not allow what the run is to do with it,
	// or is not what its template asks for.
	ReasonClaimUnfit = "ClaimUnfit"
	// ReasonVolumeInUse: something else uses a volume, and requireIdle is true.
	ReasonVolumeInUse = "VolumeInUse"
	// ReasonNotEnoughSpace: the data set does not fit on the volume.
	ReasonNotEnoughSpace = "NotEnoughSpace"
	// ReasonClientLost: a client was lost and could not be replaced.
	ReasonClientLost = "ClientLost"
	// ReasonPreempted: the clients were preempted; the run is queued again.
	ReasonPreempted = "Preempted"
	// ReasonReplaced: another run was due, and replacePolicy is Stop.
	ReasonReplaced = "Replaced"
	// ReasonStopped: somebody stopped the run.
	ReasonStopped = "Stopped"
	// ReasonInternalError: an error of storagebench itself.
	ReasonInternalError = "InternalError"
)

// Reasons of Valid of a BenchmarkRun beside the type of the warning that
// disqualifies it, which is the reason when it is False.
const (
	// ReasonNoDisqualifyingWarning: the results measure what was asked for.
	ReasonNoDisqualifyingWarning = "NoDisqualifyingWarning"
	// ReasonNoResult: there is nothing to judge.
	ReasonNoResult = "NoResult"
)

// Reasons of ObjectivesMet of a BenchmarkRun, beside ReasonObjectiveMissed.
const (
	// ReasonAllMet: every objective is met.
	ReasonAllMet = "AllMet"
	// ReasonNoObjectives: there is none.
	ReasonNoObjectives = "NoObjectives"
	// ReasonFigureAbsent: a figure for an objective is absent.
	ReasonFigureAbsent = "FigureAbsent"
)

// Reasons of DataRemoved of a BenchmarkRun.
const (
	// ReasonRemoved: the data is gone.
	ReasonRemoved = "Removed"
	// ReasonRetained: the data is kept, as dataPolicy asks.
	ReasonRetained = "Retained"
	// ReasonRemovalFailed: some data could not be removed; status.dataLeft
	// names it.
	ReasonRemovalFailed = "RemovalFailed"
)

// Stages: what goes on, in a word. They are for people; programs read the
// conditions.
const (
	StagePending    = "Pending"
	StageSuspended  = "Suspended"
	StageQueued     = "Queued"
	StageDeploying  = "Deploying"
	StageMeeting    = "Meeting"
	StageRunning    = "Running"
	StageCollecting = "Collecting"
	StageFinishing  = "Finishing"
	StageComplete   = "Complete"
	StageFailed     = "Failed"
)
