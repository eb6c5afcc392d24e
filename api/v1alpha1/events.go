package v1alpha1

// Reasons for events on BenchmarkRuns, StorageBenchmarks, ClusterWorkloadProfiles, and the ConfigMap of documented
// limits.
const (
	// EventRunCreated: a run was created.
	EventRunCreated = "RunCreated"
	// EventReferenceMissing: a referenced profile or claim is missing.
	EventReferenceMissing = "ReferenceMissing"
	// EventInvalidWorkload: no run can be created from spec.run.
	EventInvalidWorkload = "InvalidWorkload"
	// EventRunQueued: a run waits for another run, or for quota.
	EventRunQueued = "RunQueued"
	// EventRunAdmitted: a waiting run may proceed.
	EventRunAdmitted = "RunAdmitted"
	// EventRunReplaced: a run is stopped so that another one can start.
	EventRunReplaced = "RunReplaced"
	// EventRunPreempted: a run was preempted, and another one is created in its place.
	EventRunPreempted = "RunPreempted"
	// EventScheduleMissed: scheduled times passed without a run.
	EventScheduleMissed = "ScheduleMissed"
	// EventSeriesNotKept: the time series of a step could not be written to the run's ConfigMap.
	// The results are not affected.
	EventSeriesNotKept = "SeriesNotKept"
	// EventRunStarted: a run starts to create its clients.
	EventRunStarted = "RunStarted"
	// EventRunStopping: a run stops its load early and cleans up.
	EventRunStopping = "RunStopping"
	// EventClientsReady: all clients of a run are connected.
	EventClientsReady = "ClientsReady"
	// EventStepStarted: a step began.
	EventStepStarted = "StepStarted"
	// EventStepSucceeded: a step completed with a result.
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
	// EventRegressed: the newest runs are worse than earlier ones.
	EventRegressed = "Regressed"
	// EventRecovered: a run passed after a run that did not pass, or a verdict became Passed because the objectives or the
	// regression policy changed.
	EventRecovered = "Recovered"
	// EventRegressionEnded: the newest runs are no longer worse than earlier ones.
	EventRegressionEnded = "RegressionEnded"
	// EventSuspended: spec.suspend prevents runs from being started.
	EventSuspended = "Suspended"
	// EventResumed: spec.suspend no longer prevents runs from being started.
	EventResumed = "Resumed"
	// EventDataLeft: data of a run could not be removed.
	EventDataLeft = "DataLeft"
	// EventObjectsLeft: the API server refuses to delete objects of a run that has ended.
	EventObjectsLeft = "ObjectsLeft"
	// EventRequestRefused: the API server refuses a request that a run needs to continue, or an update of a benchmark's
	// status. The operator tries again.
	EventRequestRefused = "RequestRefused"
	// EventLimitsFaulty: the ConfigMap of documented limits cannot be used.
	EventLimitsFaulty = "LimitsFaulty"
	// EventProfileKept: a profile with the name of a library profile is left unchanged, because it does not belong to
	// the library or was modified.
	EventProfileKept = "ProfileKept"
	// EventProfileLeft: a profile that the library no longer includes is left in place.
	EventProfileLeft = "ProfileLeft"
	// EventVolumeInUse: something else uses a volume of a run.
	EventVolumeInUse = "VolumeInUse"
	// EventDiscoveryDenied: the operator is not permitted to read objects that describe the storage of a run, such as
	// PersistentVolumes.
	EventDiscoveryDenied = "DiscoveryDenied"
)
