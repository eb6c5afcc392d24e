package v1alpha1

// Reasons of events on a BenchmarkRun or StorageBenchmark.
const (
	// EventRunCreated: a run was created.
	EventRunCreated = "RunCreated"
	// EventReferenceMissing: a profile or claim that is referred to is missing.
	EventReferenceMissing = "ReferenceMissing"
	// EventInvalidWorkload: no run can be made of spec.run.
	EventInvalidWorkload = "InvalidWorkload"
	// EventRunQueued: a run waits for another, or for quota.
	EventRunQueued = "RunQueued"
	// EventRunAdmitted: a run that has waited goes on.
	EventRunAdmitted = "RunAdmitted"
	// EventRunReplaced: a run is stopped to make way for another.
	EventRunReplaced = "RunReplaced"
	// EventRunPreempted: a run was preempted, and another one is made for it.
	EventRunPreempted = "RunPreempted"
	// EventScheduleMissed: times of the schedule passed without a run.
	EventScheduleMissed = "ScheduleMissed"
	// EventSeriesNotKept: what a step did over time could not be written to
	// the run's ConfigMap. The figures do not depend on it.
	EventSeriesNotKept = "SeriesNotKept"
	// EventRunStarted: a run begins to make its clients.
	EventRunStarted = "RunStarted"
	// EventRunStopping: a run ends its load before its time, and tidies up.
	EventRunStopping = "RunStopping"
	// EventClientsReady: all clients of a run are connected.
	EventClientsReady = "ClientsReady"
	// EventStepStarted: a step began.
	EventStepStarted = "StepStarted"
	// EventStepSucceeded: a step has its result.
	EventStepSucceeded = "StepSucceeded"
	// EventStepFailed: a step failed.
	EventStepFailed = "StepFailed"
	// EventClientLost: a client was lost.
	EventClientLost = "ClientLost"
	// EventRunComplete: a run is complete.
	EventRunComplete = "RunComplete"
	// EventRunFailed: a run failed.
	EventRunFailed = "RunFailed"
	// EventRunInvalid: a run is complete, and its results are disqualified.
	EventRunInvalid = "RunInvalid"
	// EventObjectiveMissed: a run missed an objective.
	EventObjectiveMissed = "ObjectiveMissed"
	// EventRegressed: runs became worse than earlier ones.
	EventRegressed = "Regressed"
	// EventRecovered: a run passed, after one that had not, or a verdict became a
	// good one by other objectives.
	EventRecovered = "Recovered"
	// EventRegressionEnded: runs are not worse than earlier ones any more.
	EventRegressionEnded = "RegressionEnded"
	// EventSuspended: spec.suspend keeps runs from being started.
	EventSuspended = "Suspended"
	// EventResumed: spec.suspend does so no more.
	EventResumed = "Resumed"
	// EventDataLeft: data of a run could not be removed.
	EventDataLeft = "DataLeft"
	// EventLimitsFaulty: the ConfigMap of documented limits cannot be used.
	EventLimitsFaulty = "LimitsFaulty"
	// EventProfileKept: a profile has the name of one of the library and is not,
	// or is no longer, the library's, so that it is left as it is.
	EventProfileKept = "ProfileKept"
	// EventProfileLeft: a profile of the library of another version, which this
	// one does not have, is left where it is.
	EventProfileLeft = "ProfileLeft"
	// EventVolumeInUse: something else uses a volume of a run.
	EventVolumeInUse = "VolumeInUse"
	// EventDiscoveryDenied: the operator has no right to read what would tell
	// what the storage of a run is, such as PersistentVolumes.
	EventDiscoveryDenied = "DiscoveryDenied"
)
