package decide

import "time"

// Observing describes the progress of evaluating a run's observations.
type Observing struct {
	// Pending is true if the run has observations and no evaluation of them is recorded yet.
	Pending bool
	// From is the earliest time at which an evaluation may begin, and Every is the interval between two evaluations. By
	// is the time from which the result of an evaluation is recorded even if data is missing.
	From, By time.Time
	Every    time.Duration
	// Begun is the time at which the newest evaluation began, or zero if there is none. Ended is true once it has
	// ended, and Complete is true if no data was missing.
	Begun           time.Time
	Ended, Complete bool
}

const (
	// evaluationPatience limits how long a run waits for an evaluation to end; cancelledPatience applies to a cancelled
	// run. Evaluations have their own, shorter timeouts.
	evaluationPatience = 90 * time.Second
	cancelledPatience  = 10 * time.Second
	// observeBeat is the interval at which a running evaluation is checked.
	observeBeat = 200 * time.Millisecond
)

// observe evaluates the observations of a run whose clients have exited. While data is missing, it repeats the
// evaluation until the time in Observing.By. A run that was ended early does not wait for late data.
func (s Snapshot) observe(now time.Time) (Action, bool) {
	o := s.Observing
	early, patience := s.Cancel != nil || s.Failure != nil, evaluationPatience
	if s.Cancel != nil {
		patience = cancelledPatience
	}
	switch {
	case !o.Pending:
		return Action{}, false
	case o.Begun.IsZero() && !early && now.Before(o.From):
		return Action{Kind: Wait, Until: o.From}, true
	case o.Begun.IsZero():
		return Action{Kind: Observe}, true
	case !o.Ended && now.Before(o.Begun.Add(patience)):
		return Action{Kind: Wait, Until: earlier(now.Add(observeBeat), o.Begun.Add(patience))}, true
	case !o.Ended, o.Complete, early, !now.Before(o.By):
		return Action{Kind: RecordObservations}, true
	}
	if next := earlier(o.Begun.Add(o.Every), o.By); now.Before(next) {
		return Action{Kind: Wait, Until: next}, true
	}
	return Action{Kind: Observe}, true
}
