package decide

import (
	"fmt"
	"slices"
	"time"
)

// Snapshot is all that a decision may know.
type Snapshot struct {
	// Steps of the plan, in the order in which they run.
	Steps []Step
	// Clients as the conductor sees them now.
	Clients []Client
	// Enough says, of attempts that end by what they measure, that and why they may end now.
	Enough map[Attempt]string
	// Records of steps that were begun, by step ID.
	Records map[string]Record
	Policy  Policy
	// Begun is when the run was deployed; the start timeout counts from it.
	Begun time.Time
	// Cancel asks to end the run before its time; nil when nobody asked.
	Cancel *Failure
	// Failure is the first thing that ended the run, once it was recorded.
	Failure *Failure
	// EndingSince is when Failure or Cancel was first known; zero while there is neither.
	EndingSince time.Time
	// FinishSent is when the agents were first told to finish; zero before.
	FinishSent time.Time
}

// WhyStopped is what clients are told when their load is stopped.
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
		return "another client was told too late, and the step is to be repeated"
	case len(counts.failed) > 0:
		return "another client failed"
	case len(counts.parted) > 0:
		return "another client says that one was lost"
	case step.NonRepeatable && !record.Start.IsZero():
		return "another client was lost, and the step cannot be repeated"
	}
	return "the step is to be repeated"
}

// Step is what a decision needs to know of one step of the plan.
type Step struct {
	ID string
	// Targets whose clients take part.
	Targets []string
	// ClientsPerTarget limits the step to the first clients of each target; 0 means all.
	ClientsPerTarget int
	// Limit is how long the step may take from its start instant to its last completion. An Idle step
	// takes that long, unless Until is known.
	Limit time.Duration
	// Idle steps load nothing: no client takes part.
	Idle bool
	// Until is when an Idle step ends, where that follows from the steps before it; zero elsewhere. Limit
	// bounds it.
	Until time.Time
	// NonRepeatable says that the step cannot be repeated once it has started, as a burst drain on a drained bucket:
	// when a client is lost it ends with what it has, and the run goes on to the next step.
	NonRepeatable bool
	// Earliest is how long after its start the step may end by what it has measured.
	Earliest time.Duration
	// Latest is how long after its start it is ended, as one that has measured enough; 0 where it ends by itself.
	Latest time.Duration
	// Coupled says that the clients of each target are one job, which ends for all when one of them is lost.
	Coupled bool
}

// Takes reports whether a client takes part in the step.
func (s Step) Takes(key ClientKey) bool {
	return !s.Idle && slices.Contains(s.Targets, key.Target) &&
		(s.ClientsPerTarget == 0 || key.Index < s.ClientsPerTarget)
}

// ClientKey names a client of a run.
type ClientKey struct {
	Target string
	Index  int
}

func (k ClientKey) String() string { return fmt.Sprintf("%s/%d", k.Target, k.Index) }

// Connection is where a client stands.
type Connection string

const (
	// Connecting clients have not been reached yet.
	Connecting Connection = "Connecting"
	// Ready clients answer and have all they need.
	Ready Connection = "Ready"
	// Lost clients were ready once and are gone for good.
	Lost Connection = "Lost"
	// Unfit clients answer but cannot take part, for the reason that they give.
	Unfit Connection = "Unfit"
	// Finished clients have stopped, tidied up and left.
	Finished Connection = "Finished"
)

// Client is one client as the conductor sees it.
type Client struct {
	Key        ClientKey
	Connection Connection
	// Reason and Message say why a client is not ready.
	Reason  string
	Message string
	// Since is when it was begun to reach the client; the start timeout counts from it.
	Since time.Time
	// Replacements is how often this client was replaced.
	Replacements int
	// Attempts that the client knows of, by step and attempt.
	Attempts map[Attempt]ClientStep
}

// Attempt is one try at a step.
type Attempt struct {
	Step   string
	Number int
}

func (a Attempt) String() string { return fmt.Sprintf("%s#%d", a.Step, a.Number) }

// Progress is how far a client is with an attempt.
type Progress string

const (
	// Loading means that the command was sent and not answered yet.
	Loading Progress = "Loading"
	// Loaded means that the tool is spawned and waits.
	Loaded Progress = "Loaded"
	// Refused means that the step could not be loaded.
	Refused Progress = "Refused"
	// Running means that the tool was released, or that the command for it was taken.
	Running Progress = "Running"
	// Ended means that the tool is gone and its result is here.
	Ended Progress = "Ended"
)

// ClientStep is one client's part in an attempt.
type ClientStep struct {
	Progress Progress
	// Failed is why a refused or ended part is no success.
	Failed *Failure
	// Since is when that was learnt; zero where there is no failure.
	Since time.Time
	// Left says that the part was ended before its time since the agent was told to end by somebody
	// else, such as whoever drains its node: the client is Lost as soon as that is seen.
	Left bool
}

// Record is what was written down about a step before and after it ran.
type Record struct {
	Attempt int
	// Start and Deadline are the intent; zero until Start was decided.
	Start    time.Time
	Deadline time.Time
	// Done says that the result of the step was recorded, good or bad.
	Done bool
	// Concluded is when it was decided that enough is measured; zero before.
	Concluded time.Time
}

// Failure is why something ended before it was complete.
type Failure struct {
	Reason  string
	Message string
}

func (f Failure) Error() string { return f.Reason + ": " + f.Message }

// LossPolicy is what to do when a client is lost.
type LossPolicy string

const (
	// RestartStep repeats the step with a replacement.
	RestartStep LossPolicy = "RestartStep"
	// FailRun ends the run.
	FailRun LossPolicy = "FailRun"
	// ContinueDegraded goes on with the clients that are left.
	ContinueDegraded LossPolicy = "ContinueDegraded"
)

// Policy holds the run's settings for decisions.
type Policy struct {
	OnLoss LossPolicy
	// MaxRestarts limits the replacements of each client.
	MaxRestarts int
	// StartTimeout bounds the time in which all agents must be ready.
	StartTimeout time.Duration
	// ActiveDeadline bounds the whole run; 0 does not.
	ActiveDeadline time.Duration
	// StartLead is how far ahead the common start instant is set: longer than a command takes.
	StartLead time.Duration
	// StopGrace is how long an agent may take past a deadline, what is in flight included.
	StopGrace time.Duration
	// LossPatience is how long to wait for a client to be seen to be lost, once others say that one is.
	LossPatience time.Duration
	// FinishTimeout bounds tidying up.
	FinishTimeout time.Duration
}

// ReasonStartMissed is that of a client that was told to start when the others had begun.
const ReasonStartMissed = "StartMissed"

// Reasons of failures that are decided here.
const (
	ReasonStartTimeout = "StartTimeout"
	ReasonClientLost   = "ClientLost"
	ReasonUnresponsive = "ClientUnresponsive"
	ReasonDeadline     = "DeadlineExceeded"
)
