package v1alpha1

// Conditions of a StorageBenchmark. They follow kstatus, so that Argo CD, Flux
// and kubectl wait can gate on the verdict.
const (
	// ConditionReady is True if the newest evaluated run is complete and valid, met its objectives and shows no
	// regression. It is False if the run did not pass or the workload cannot be run, and Unknown if the current spec.run
	// has not been evaluated yet or a reference is missing.
	ConditionReady = "Ready"
	// ConditionReconciling is True while the operator waits for a verdict on the current spec.run or for a missing
	// reference; otherwise absent.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True if the newest evaluated run did not pass, the workload cannot be run, or a reference has
	// been missing for longer than startTimeout; otherwise absent. It precedes Reconciling in the list because kstatus
	// uses the first of the two that is True.
	ConditionStalled = "Stalled"
	// ConditionRunning is True while a run is in progress or queued.
	ConditionRunning = "Running"
	// ConditionRegressed is True if the newest evaluated runs are worse than earlier ones, and False if not. It is
	// Unknown if they cannot be compared, for example with fewer than four earlier runs. It is absent without
	// spec.regression.
	ConditionRegressed = "Regressed"
)

// Conditions of a BenchmarkRun. Complete and Failed are mutually exclusive.
const (
	// ConditionWaiting is True while the run waits for its turn, for client capacity or for quota, and False once it
	// may start. The message names what the run waits for.
	ConditionWaiting = "Waiting"
	// ConditionComplete is True if every phase has a result.
	ConditionComplete = "Complete"
	// ConditionFailed is True if the run ended without all results.
	ConditionFailed = "Failed"
	// ConditionValid is True if no warning disqualifies the results.
	ConditionValid = "Valid"
	// ConditionObjectivesMet is True if every objective is met, False if one is missed, and Unknown if a figure that an
	// objective needs is absent.
	ConditionObjectivesMet = "ObjectivesMet"
	// ConditionDataRemoved is True if the run's data was removed, or kept on purpose. If it is False,
	// status.dataLeft lists the paths.
	ConditionDataRemoved = "DataRemoved"
	// ConditionObjectsDeleted is False if the API server refuses to delete objects of a run that has ended; otherwise
	// absent. The message names the objects.
	ConditionObjectsDeleted = "ObjectsDeleted"
)

// Reasons for a StorageBenchmark's Ready, Reconciling and Stalled conditions. If the newest run failed, these
// conditions have the reason of the run's Failed condition.
const (
	// ReasonPassed: the newest evaluated run passed.
	ReasonPassed = "Passed"
	// ReasonNotJudged: no run of the current spec.run has been evaluated yet.
	ReasonNotJudged = "NotJudged"
	// ReasonProfileNotFound: a referenced profile is missing.
	ReasonProfileNotFound = "ProfileNotFound"
	// ReasonClaimNotFound: a referenced claim is missing.
	ReasonClaimNotFound = "ClaimNotFound"
	// ReasonRunFailed: the newest run ended without a Complete or Failed condition, or the reason of its Failed
	// condition is too long.
	ReasonRunFailed = "RunFailed"
	// ReasonRunInvalid: the newest run is complete, but its results are not valid.
	ReasonRunInvalid = "RunInvalid"
	// ReasonObjectiveMissed: an objective was missed, or a figure that it needs is absent.
	ReasonObjectiveMissed = "ObjectiveMissed"
	// ReasonRegressed: the newest runs are worse than earlier ones.
	ReasonRegressed = "Regressed"
	// ReasonSuspended: spec.suspend is true.
	ReasonSuspended = "Suspended"
	// ReasonRunNotCreated: the API server rejects the run, or its name is in use; the message gives
	// the cause. The operator tries again.
	ReasonRunNotCreated = "RunNotCreated"
)

// Reasons for a StorageBenchmark's Regressed condition, in addition to ReasonRegressed.
const (
	// ReasonNoChange: the newest runs are neither better nor worse than earlier ones.
	ReasonNoChange = "NoChange"
	// ReasonImproved: the newest runs are better than earlier ones.
	ReasonImproved = "Improved"
	// ReasonTooFewRuns: there are fewer than four earlier valid runs of the same spec.run on the
	// same kind of storage.
	ReasonTooFewRuns = "TooFewRuns"
	// ReasonNotComparable: the newest run is not valid, has no figure to compare, or lacks a figure that earlier runs
	// have.
	ReasonNotComparable = "NotComparable"
)

// Reasons for a StorageBenchmark's Running condition.
const (
	// ReasonRunLive: a run is in progress.
	ReasonRunLive = "RunLive"
	// ReasonRunQueued: a run waits for another run in its queue or on its volumes, for client capacity, or for quota.
	ReasonRunQueued = "RunQueued"
	// ReasonNoRun: no run is in progress or queued.
	ReasonNoRun = "NoRun"
)

// Reasons for a BenchmarkRun's Waiting condition.
const (
	// ReasonWaitsForQueue: another run in the same queue is in progress or ahead.
	ReasonWaitsForQueue = "WaitsForQueue"
	// ReasonWaitsForVolume: another run that uses one of the volumes is in progress or ahead.
	ReasonWaitsForVolume = "WaitsForVolume"
	// ReasonWaitsForQuota: Kueue has not admitted the run's clients yet.
	ReasonWaitsForQuota = "WaitsForQuota"
	// ReasonWaitsForClients: the operator has reached its client limit.
	ReasonWaitsForClients = "WaitsForClients"
	// ReasonItsTurn: no run is ahead in the queue.
	ReasonItsTurn = "ItsTurn"
	// ReasonQuotaGranted: Kueue has admitted the run's clients.
	ReasonQuotaGranted = "QuotaGranted"
)

// Reasons for a BenchmarkRun's Complete and Failed conditions.
const (
	// ReasonAllPhasesDone: every phase has a result.
	ReasonAllPhasesDone = "AllPhasesDone"
	// ReasonInProgress: the run is in progress.
	ReasonInProgress = "InProgress"
	// ReasonStartTimeout: the clients were not ready in time.
	ReasonStartTimeout = "StartTimeout"
	// ReasonDeadlineExceeded: activeDeadline passed.
	ReasonDeadlineExceeded = "DeadlineExceeded"
	// ReasonStepFailed: a step failed.
	ReasonStepFailed = "StepFailed"
	// ReasonToolFailed: the tool could not run or reported an error.
	ReasonToolFailed = "ToolFailed"
	// ReasonInvalidWorkload: the tool or storagebench rejects the workload.
	ReasonInvalidWorkload = "InvalidWorkload"
	// ReasonMountNotFound: a volume is not mounted as expected, or contains data of another owner.
	ReasonMountNotFound = "MountNotFound"
	// ReasonClaimUnfit: a claim is unsuitable for the run, or does not match its template.
	ReasonClaimUnfit = "ClaimUnfit"
	// ReasonVolumeInUse: something else uses a volume, and requireIdle is true.
	ReasonVolumeInUse = "VolumeInUse"
	// ReasonNotEnoughSpace: the dataset does not fit on the volume.
	ReasonNotEnoughSpace = "NotEnoughSpace"
	// ReasonClientLost: a client was lost and could not be replaced.
	ReasonClientLost = "ClientLost"
	// ReasonPreempted: the run's clients were preempted; a new run is queued in its place.
	ReasonPreempted = "Preempted"
	// ReasonReplaced: another run was due, and concurrencyPolicy is Replace.
	ReasonReplaced = "Replaced"
	// ReasonStopped: a user or Kueue stopped the run, or its status was lost after the run had begun.
	ReasonStopped = "Stopped"
	// ReasonInternalError: storagebench itself failed.
	ReasonInternalError = "InternalError"
)

// IsCancellation reports whether a run that failed for the given reason was stopped on purpose.
func IsCancellation(reason string) bool {
	return reason == ReasonStopped || reason == ReasonReplaced
}

// Reasons for a BenchmarkRun's Valid condition. If Valid is False, the reason is the type of the warning that
// disqualifies the results.
const (
	// ReasonNoDisqualifyingWarning: the results measure what was requested.
	ReasonNoDisqualifyingWarning = "NoDisqualifyingWarning"
	// ReasonNoResult: there is no result to evaluate.
	ReasonNoResult = "NoResult"
)

// Reasons for a BenchmarkRun's ObjectivesMet condition, in addition to ReasonObjectiveMissed.
const (
	// ReasonAllMet: every objective is met.
	ReasonAllMet = "AllMet"
	// ReasonNoObjectives: the run has no objectives.
	ReasonNoObjectives = "NoObjectives"
	// ReasonFigureAbsent: a figure that an objective needs is absent.
	ReasonFigureAbsent = "FigureAbsent"
)

// Reasons for a BenchmarkRun's DataRemoved condition.
const (
	// ReasonRemoved: the data is removed.
	ReasonRemoved = "Removed"
	// ReasonRetained: the data is kept, as dataPolicy requests.
	ReasonRetained = "Retained"
	// ReasonRemovalFailed: some data could not be removed; status.dataLeft lists it.
	ReasonRemovalFailed = "RemovalFailed"
)

// ReasonDeletionRefused is the reason of a BenchmarkRun's ObjectsDeleted condition: the API server refuses to delete
// objects of the run.
const ReasonDeletionRefused = "DeletionRefused"

// Stages of benchmarks and runs, each in one word. They are for display; programs should read the conditions.
const (
	StagePending    = "Pending"
	StageSuspended  = "Suspended"
	StageQueued     = "Queued"
	StageConnecting = "Connecting"
	StageRunning    = "Running"
	StageFinishing  = "Finishing"
	StageComplete   = "Complete"
	StageFailed     = "Failed"
	// StageMissed and StageRegressed are stages of benchmarks whose last run is complete and valid.
	StageMissed    = "Missed"
	StageRegressed = "Regressed"
)
