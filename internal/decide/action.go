package decide

import (
	"fmt"
	"strings"
	"time"
)

// Kind is the kind of an action.
type Kind string

const (
	// Wait does nothing until the snapshot changes, or until the time in the field Until, whichever comes first.
	Wait Kind = "Wait"
	// Load sends the attempt to Clients.
	Load Kind = "Load"
	// Start records the start and the deadline of the step, then sends both to Clients.
	Start Kind = "Start"
	// Stop ends the load of the attempt on Clients; their results are kept.
	Stop Kind = "Stop"
	// Conclude records that the step has measured enough, then stops Clients, whose results count as complete.
	Conclude Kind = "Conclude"
	// RecordResult records the step's result from the reports of its clients.
	RecordResult Kind = "RecordResult"
	// Retry records that the step is repeated; Attempt is the new attempt.
	Retry Kind = "Retry"
	// Replace creates replacements for the lost Clients.
	Replace Kind = "Replace"
	// Fail records Failure as the reason for ending the run.
	Fail Kind = "Fail"
	// Finish directs Clients to stop, clean up and exit.
	Finish Kind = "Finish"
	// Observe starts an evaluation of the observations.
	Observe Kind = "Observe"
	// RecordObservations records the newest evaluation of the observations.
	RecordObservations Kind = "RecordObservations"
	// Done means that nothing is left to do.
	Done Kind = "Done"
)

// Action is the next action that the caller has to execute.
type Action struct {
	Kind     Kind
	Attempt  Attempt
	Clients  []ClientKey
	Start    time.Time
	Deadline time.Time
	Until    time.Time
	Failure  *Failure
	// Reason explains why the step has measured enough, or why it is repeated. It is set only for Conclude and Retry.
	Reason string
}

// String formats the action as one line for logs and golden files, without its times.
func (a Action) String() string {
	words := []string{string(a.Kind)}
	if a.Attempt.Step != "" {
		words = append(words, a.Attempt.String())
	}
	for _, key := range a.Clients {
		words = append(words, key.String())
	}
	if a.Failure != nil {
		words = append(words, fmt.Sprintf("(%s)", a.Failure.Error()))
	}
	if a.Reason != "" {
		words = append(words, fmt.Sprintf("(%s)", a.Reason))
	}
	return strings.Join(words, " ")
}
