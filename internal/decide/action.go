package decide

import (
	"fmt"
	"strings"
	"time"
)

// Kind is what an action does.
type Kind string

const (
	// Wait does nothing until something changes, or until Until.
	Wait Kind = "Wait"
	// Load sends the attempt to Clients.
	Load Kind = "Load"
	// Start records Start and Deadline, then sends them to Clients.
	Start Kind = "Start"
	// Stop ends the load of the attempt on Clients; their results are kept.
	Stop Kind = "Stop"
	// Conclude records that enough was measured, then stops Clients; their results are complete.
	Conclude Kind = "Conclude"
	// RecordResult writes down the step's result from what its clients reported.
	RecordResult Kind = "RecordResult"
	// Retry records that the step is tried again, as Attempt.
	Retry Kind = "Retry"
	// Replace makes new clients in place of the lost Clients.
	Replace Kind = "Replace"
	// Fail records Failure as the end of the run.
	Fail Kind = "Fail"
	// Finish tells the Clients to stop, tidy up and leave.
	Finish Kind = "Finish"
	// Done means that nothing is left to do.
	Done Kind = "Done"
)

// Action is the next thing to do.
type Action struct {
	Kind     Kind
	Attempt  Attempt
	Clients  []ClientKey
	Start    time.Time
	Deadline time.Time
	Until    time.Time
	Failure  *Failure
	// Reason is why enough was measured, of Conclude.
	Reason string
}

// String is one line for logs and golden files; instants are left to the caller.
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
