package decide

import (
	"fmt"
	"slices"
	"time"
)

// Snapshot is the complete input of a decision.
type Snapshot struct {
	// Steps of the plan, in execution order.
	Steps []Step
	// Clients as the conductor observes them now.
	Clients []Client
	// Enough holds, for each attempt that may end now because it has measured enough, the reason.
	Enough map[Attempt]string
	// Records of the steps that were begun, by step ID.
	Records map[string]Record
	Policy  Policy
	// Begun is the time at which the run was deployed; the start timeout counts from it.
	Begun time.Time
	// Cancel is the request to end the run early; nil if there is none.
	Cancel *Failure
	// Failure is the first failure that ended the run, once it is recorded.
	Failure *Failure
	// EndingSince is the time at which Failure or Cancel was first known; zero if there is neither.
	EndingSince time.Time
	// FinishSent is the time at which the agents were first directed to finish; zero before.
	FinishSent time.Time
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
		return "another client received the start too late; the step is repeated"
	case len(counts.failed) > 0:
		return "another client failed"
	case len(counts.peerLost) > 0:
		return "another client lost a peer"
	case step.NonRepeatable && !record.Start.IsZero():
		return "another client was lost; the step cannot be repeated"
	}
	return "the step is repeated"
}

// Step is the part of a plan's step that decisions need.
type Step struct {
	ID string
	// Targets are the targets whose clients take part.
	Targets []string
	// ClientsPerTarget limits the step to the first clients of each target; 0 means all.
	ClientsPerTarget int
	// Limit is the longest time from the step's start to its last completion. An Idle step takes exactly Limit, unless
	// Until is known.
	Limit time.Duration
	// Idle is true for a step without load, in which no client takes part.
	Idle bool
	// Until is the time at which an Idle step ends if the steps before it determine that; zero otherwise. Limit bounds
	// it.
	Until time.Time
	// NonRepeatable is true if the step cannot be repeated once it has started, such as a burst drain of a drained
	// bucket. If it loses a client, it ends with its results so far, and the run continues with the next step.
	NonRepeatable bool
	// Earliest is the time after its start from which the step may end because it has measured enough.
	Earliest time.Duration
	// Latest is the time after its start at which the step is concluded even if it has not measured enough; 0 if it
	// ends by itself.
	Latest time.Duration
	// Coupled is true if the clients of each target form one job, which ends for all of them when one is lost.
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
	// Ready clients respond and have everything they need.
	Ready Connection = "Ready"
	// Lost clients were ready once and are gone for good.
	Lost Connection = "Lost"
	// Unfit clients respond but cannot take part, for the reason that they report.
	Unfit Connection = "Unfit"
	// Finished clients have stopped, cleaned up and left.
	Finished Connection = "Finished"
)

// Client is a client as the conductor observes it.
type Client struct {
	Key        ClientKey
	Connection Connection
	// Reason and Message explain why a client is not ready.
	Reason  string
	Message string
	// Since is the time at which the conductor began to connect to the client; the start timeout counts from it.
	Since time.Time
	// Replacements is the number of times that this client was replaced.
	Replacements int
	// Attempts are the attempts that the client has received, with its progress.
	Attempts map[Attempt]ClientStep
}

// Attempt is one try at a step.
type Attempt struct {
	Step   string
	Number int
}

func (a Attempt) String() string { return fmt.Sprintf("%s#%d", a.Step, a.Number) }

// Progress is the progress of a client in an attempt.
type Progress string

const (
	// Loading means that the command was sent but not answered yet.
	Loading Progress = "Loading"
	// Loaded means that the tool has started and waits for its release.
	Loaded Progress = "Loaded"
	// Refused means that the step could not be loaded.
	Refused Progress = "Refused"
	// Running means that the tool was released, or that the agent accepted the start command.
	Running Progress = "Running"
	// Ended means that the tool has exited and its result has arrived.
	Ended Progress = "Ended"
)

// ClientStep is one client's part in an attempt.
type ClientStep struct {
	Progress Progress
	// Failed is the reason why a refused or ended part is not successful.
	Failed *Failure
	// Since is the time at which the failure became known; zero without a failure.
	Since time.Time
	// AgentTerminated is true if the part ended early because a third party terminated the agent, for example by
	// draining its node. The client becomes Lost once that is detected.
	AgentTerminated bool
}

// Record holds what was recorded about a step before and after it ran.
type Record struct {
	Attempt int
	// Start and Deadline are the intent; zero until Start is decided.
	Start    time.Time
	Deadline time.Time
	// Done is true once the step's result is recorded, whether successful or not.
	Done bool
	// Concluded is the time at which the decision was made that the step has measured enough; zero before.
	Concluded time.Time
}

// Failure is the reason why something ended before it was complete.
type Failure struct {
	Reason  string
	Message string
}

func (f Failure) Error() string { return f.Reason + ": " + f.Message }

// LossPolicy is the reaction to the loss of a client.
type LossPolicy string

const (
	// RestartStep repeats the step with a replacement.
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
	// StartTimeout bounds the time in which all agents must be ready.
	StartTimeout time.Duration
	// ActiveDeadline bounds the whole run; 0 means no bound.
	ActiveDeadline time.Duration
	// StartLead is how far in the future the common start is set: longer than a command takes to arrive.
	StartLead time.Duration
	// StopGrace is the time after a deadline in which an agent must have stopped, including I/O in flight.
	StopGrace time.Duration
	// LossPatience is the time to wait until a loss is detected after other clients report it.
	LossPatience time.Duration
	// FinishTimeout bounds the cleanup.
	FinishTimeout time.Duration
}

// ReasonStartMissed is the failure of a client that received the start command after the common start.
const ReasonStartMissed = "StartMissed"

// Reasons of failures that this package decides.
const (
	ReasonStartTimeout = "StartTimeout"
	ReasonClientLost   = "ClientLost"
	ReasonUnresponsive = "ClientUnresponsive"
	ReasonDeadline     = "DeadlineExceeded"
)
