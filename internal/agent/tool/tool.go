package tool

import (
	"context"
	"fmt"

	"github.com/storagebench/storagebench/internal/agentapi"
)

// Tool runs the loads of one kind of step.
type Tool interface {
	// Describe returns the tool's programs. A missing program is reported as a problem, which matters only to runs that
	// need the program.
	Describe(ctx context.Context) []*agentapi.Tool
	// Load checks everything that a step needs and prepares its load. If Load returns an error, the step is refused,
	// and Load leaves no process running and no file open.
	Load(step *Step) (Load, error)
}

// Load is a prepared load that waits for its start.
type Load interface {
	// Run starts the load now, and returns when all processes of the tool have exited. The deadline is an instant on
	// the agent's clock.
	Run(deadline int64) *agentapi.Ended
	// Discard ends a load that was never run.
	Discard()
}

// Waiting is a Load with a process that waits for the start.
type Waiting interface {
	Load
	// Exited is closed when the process exits.
	Exited() <-chan struct{}
	// Conclude returns the result of a load whose process exited before the start. It is called instead of Run.
	Conclude() *agentapi.Ended
}

// Step describes one attempt of a step on this client to the tool that runs it.
type Step struct {
	*Environment

	Request *agentapi.LoadRequest
	// Stopped is canceled when the load must stop. Its cause is the reason.
	Stopped context.Context
	// Abandoned is closed when the agent cannot wait for the load any longer.
	Abandoned <-chan struct{}
	// Ended is closed when the step has ended.
	Ended <-chan struct{}
	// Write adds a record of this step to the log, and LogBytes returns the log's size.
	Write    func(*agentapi.Record)
	LogBytes func() int
}

// StepName returns the name of a step's attempt, for messages and maps.
func StepName(key *agentapi.StepKey) string {
	return fmt.Sprintf("%s#%d", key.GetId(), key.GetAttempt())
}

// Notice logs a warning before the end of the step.
func (s *Step) Notice(warning, format string, arguments ...any) {
	s.Write(&agentapi.Record{Entry: &agentapi.Record_Notice{Notice: &agentapi.Notice{
		Warning: warning, Message: fmt.Sprintf(format, arguments...)}}})
}

// Started logs that the load starts now on this client.
func (s *Step) Started() {
	s.Write(&agentapi.Record{Entry: &agentapi.Record_Started{
		Started: &agentapi.Started{ReleasedNanoseconds: s.Clock.Monotonic()}}})
}

// Sample logs a sample.
func (s *Step) Sample(sample *agentapi.Sample) {
	s.Write(&agentapi.Record{Entry: &agentapi.Record_Sample{Sample: sample}})
}

// Reasons why a step ended, other than those in the tool's own output.
const (
	ReasonStopped  = "Stopped"
	ReasonHung     = "Hung"
	ReasonDeadline = "DeadlineExceeded"
	ReasonKilled   = "Killed"
	ReasonInvalid  = "InvalidOutput"
)

// Fail turns a result into a failure.
func Fail(ended *agentapi.Ended, reason, format string, arguments ...any) {
	ended.Outcome, ended.Reason, ended.Message = agentapi.Outcome_OUTCOME_FAILED, reason, fmt.Sprintf(format, arguments...)
}

// Warn adds a notice to a result.
func Warn(ended *agentapi.Ended, warning, format string, arguments ...any) {
	ended.Notices = append(ended.Notices, &agentapi.Notice{Warning: warning,
		Message: fmt.Sprintf(format, arguments...)})
}
