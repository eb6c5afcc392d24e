package decide

import (
	"fmt"
	"slices"
	"time"
)

// Snapshot is the complete input of a decision.
type Snapshot struct {
	// Steps are the steps of the plan, in execution order.
	Steps []Step
	// Clients are the clients as the conductor observes them now.
	Clients []Client
	// Enough holds the attempts that have measured enough and may end now, each with the reason.
	Enough map[Attempt]string
	// Records holds the records of the steps that have begun, by step ID.
	Records map[string]Record
	// LostAt maps each lost client that was not replaced to the time at which its loss was recorded.
	LostAt    map[ClientKey]time.Time
	Policy    Policy
	Observing Observing
	// Begun is the time from which the timeouts of the run are measured.
	Begun time.Time
	// Cancel is the request to end the run early, or nil.
	Cancel *Failure
	// Failure is the first failure that ended the run. It is nil until a failure is recorded.
	Failure *Failure
	// EndingSince is the time at which Failure or Cancel was first known, or zero if there is neither.
	EndingSince time.Time
	// FinishSent is the time at which the agents were first directed to finish. It is zero until then.
	FinishSent time.Time
	// ConductedSince is the time at which this conductor began to conduct the run. An earlier conductor may have recorded
	// the other times long before, and may have died before it notified the clients.
	ConductedSince time.Time
}

// WhyStopped returns the reason that clients receive when their load is stopped.
func (s Snapshot) WhyStopped() string {
	switch {
	case s.Cancel != nil:
		return s.Cancel.Message
	case s.Failure != nil:
		return s.Failure.Message
	}
	step, record := s.current()
	if step == nil {
		return "the run is over"
	}
	counts := s.count(*step, Attempt{Step: step.ID, Number: record.Attempt})
	switch {
	case !record.Concluded.IsZero():
		return "enough was measured"
	case len(counts.failed) > 0 && counts.missedStart(record):
		return "another client received the start command too late; the step is repeated"
	case len(counts.failed) > 0:
		return "another client failed"
	case len(counts.peerLost) > 0:
		return "another client reported that a client was lost"
	case step.NonRepeatable && !record.Start.IsZero():
		return "another client was lost; the step cannot be repeated"
	}
	return "the step is repeated"
}

// Step holds the properties of a planned step that affect decisions.
type Step struct {
	ID string
	// Targets are the targets whose clients take part.
	Targets []string
	// ClientsPerTarget is the number of clients per target that take part, starting with the lowest index; 0 means all.
	ClientsPerTarget int
	// Limit is the maximum time from the step's start to the completion of its last operation. An Idle step takes
	// exactly Limit unless Until is known.
	Limit time.Duration
	// Idle is true for a step without load, in which no client takes part.
	Idle bool
	// Until is the time at which an Idle step ends, if the results of earlier steps determine that time, and zero
	// otherwise. The step never takes longer than Limit.
	Until time.Time
	// NonRepeatable is true if the step cannot be repeated once it has started. A burst drain is an example, because it
	// leaves an empty bucket. If the step loses a client, it ends with its results so far, and the run continues with
	// the next step.
	NonRepeatable bool
	// Earliest is the minimum time from the step's start to its conclusion, even if the step has measured enough
	// earlier.
	Earliest time.Duration
	// Latest is the time from the step's start after which the step is concluded even if it has not measured enough. 0
	// means no limit: the step ends when its tools finish.
	Latest time.Duration
	// Coupled is true if the clients of each target run one MPI job, which ends on all of these clients when one of them
	// is lost.
	Coupled bool
}

// TakesPart reports whether a client takes part in the step.
func (s Step) TakesPart(key ClientKey) bool {
	return !s.Idle && slices.Contains(s.Targets, key.Target) &&
		(s.ClientsPerTarget == 0 || key.Index < s.ClientsPerTarget)
}

// ClientKey identifies a client of a run.
type ClientKey struct {
	Target string
	Index  int
}

func (k ClientKey) String() string { return fmt.Sprintf("%s/%d", k.Target, k.Index) }

// Connection is the connection state of a client.
type Connection string

const (
	// Connecting clients have not been reached yet.
	Connecting Connection = "Connecting"
	// Ready clients respond, and their pods, volumes and tools are ready for a step.
	Ready Connection = "Ready"
	// Lost clients are gone permanently. A client can be lost before it becomes ready.
	Lost Connection = "Lost"
	// Unfit clients respond but cannot take part, for the reason that they report.
	Unfit Connection = "Unfit"
	// Finished clients have stopped, cleaned up and exited.
	Finished Connection = "Finished"
)

// Client is a client as the conductor observes it.
type Client struct {
	Key        ClientKey
	Connection Connection
	// Reason and Message explain why a client is not ready.
	Reason  string
	Message string
	// Since is the time at which the conductor began to connect to the client; the start timeout begins then.
	Since time.Time
	// Replacements is the number of times that this client was replaced.
	Replacements int
	// Attempts holds the attempts that the client has received, with its progress in each.
	Attempts map[Attempt]ClientStep
}

// Attempt identifies one try of a step.
type Attempt struct {
	Step   string
	Number int
}

func (a Attempt) String() string { return fmt.Sprintf("%s#%d", a.Step, a.Number) }

// Previous returns the attempt of the same step that this attempt repeats.
func (a Attempt) Previous() Attempt { return Attempt{Step: a.Step, Number: a.Number - 1} }

// Progress is the progress of a client in an attempt.
type Progress string

const (
	// Loading means that the load command was sent to the agent, which has not answered yet.
	Loading Progress = "Loading"
	// Loaded means that the tool's process has started and waits for the start of the load.
	Loaded Progress = "Loaded"
	// Refused means that the agent has rejected the load command, so the tool does not run in this attempt.
	Refused Progress = "Refused"
	// Running means that the agent has accepted the start command, or has already let the tool begin.
	Running Progress = "Running"
	// Ended means that the tool has exited and its result has arrived.
	Ended Progress = "Ended"
)

// ClientStep is the state of one client in an attempt.
type ClientStep struct {
	Progress Progress
	// Failed is the reason why the client refused the attempt or did not complete it successfully.
	Failed *Failure
	// Since is the time at which the failure became known, or zero without a failure.
	Since time.Time
	// Stopped is true if the attempt ended early because a conductor stopped it, or because it reached its deadline.
	Stopped bool
	// AgentTerminated is true if the attempt ended early because a third party terminated the agent, for example by
	// draining its node. The client becomes Lost once the conductor detects the loss.
	AgentTerminated bool
	// Inherited is true if an earlier conductor loaded the attempt, with the addresses that the clients had then.
	Inherited bool
}

// Record holds the facts that were recorded about a step.
type Record struct {
	Attempt int
	// Start and Deadline are the planned start and the latest end of the step. They are zero until the start is
	// decided.
	Start    time.Time
	Deadline time.Time
	// Done is true once the step's result is recorded, whether successful or not.
	Done bool
	// Concluded is the time at which the step was found to have measured enough. It is zero until then.
	Concluded time.Time
}

// Failure is the reason why a run, a step or a client ended early.
type Failure struct {
	Reason  string
	Message string
}

func (f Failure) Error() string { return f.Reason + ": " + f.Message }

// LossPolicy defines how a run reacts to the loss of a client.
type LossPolicy string

const (
	// RestartStep repeats the step with a replacement for the lost client.
	RestartStep LossPolicy = "RestartStep"
	// FailRun ends the run.
	FailRun LossPolicy = "FailRun"
	// ContinueDegraded continues with the remaining clients.
	ContinueDegraded LossPolicy = "ContinueDegraded"
)

// Policy holds the run's settings for decisions.
type Policy struct {
	OnLoss LossPolicy
	// MaxRestarts limits the replacements of each client.
	MaxRestarts int
	// StartTimeout limits how long the agents may take to become ready.
	StartTimeout time.Duration
	// ActiveDeadline limits the duration of the whole run; 0 means no limit.
	ActiveDeadline time.Duration
	// StartLead is the time from the decision on the common start to the start itself. It must be longer than a command
	// takes to arrive.
	StartLead time.Duration
	// StopGrace is the maximum time from a deadline until an agent has stopped the load, including the completion of
	// I/O in flight.
	StopGrace time.Duration
	// LossPatience limits the wait for the conductor to detect the loss of a client of an MPI job, after other clients
	// of the job have failed.
	LossPatience time.Duration
	// FinishTimeout limits how long the clients may take to clean up and exit at the end of the run.
	FinishTimeout time.Duration
}

// ReasonStartMissed is the failure of a client that received the start command after the common start.
const ReasonStartMissed = "StartMissed"

// Reasons for the failures that this package detects.
const (
	ReasonStartTimeout = "StartTimeout"
	ReasonClientLost   = "ClientLost"
	ReasonUnresponsive = "ClientUnresponsive"
	ReasonDeadline     = "DeadlineExceeded"
)
