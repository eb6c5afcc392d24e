package v1alpha1

// Reasons of events on a BenchmarkRun or StorageBenchmark.
const (
	// EventRunCreated: a run was created.
	EventRunCreated = "RunCreated"
	// EventReferenceMissing: a profile or claim that is referred to is missing.
	EventReferenceMissing = "ReferenceMissing"
	// EventInvalidWorkload: no run can be made of spec.run.
	EventInvalidWorkload = "InvalidWorkload"
	// EventRunQueued: a run waits for another.
	EventRunQueued = "RunQueued"
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
	// EventDataLeft: data of a run could not be removed.
	EventDataLeft = "DataLeft"
)
