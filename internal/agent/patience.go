package agent

import "time"

// patience is how long the agent waits for things that should happen by themselves.
type patience struct {
	// stalled is the age of an outstanding I/O at which it is worth a word.
	stalled time.Duration
	// hung is the age at which the tool counts as hung, where the step does not say. Network file
	// systems come back after minutes.
	hung time.Duration
	// stop is how long a tool that was told to stop may take without any I/O completing.
	stop time.Duration
	// finish is how long a tool may take to stop when the agent is to leave: a pod has 120 seconds
	// for all of it.
	finish time.Duration
	// gone is how long a tool that was killed may take to be gone. One that is inside an I/O that
	// does not come back never is.
	gone time.Duration
	// files is how long a look at a step's files may take once its tool is gone.
	files time.Duration
	// remove bounds the removal of one client's files on a volume.
	remove time.Duration
}

var usualPatience = patience{
	stalled: 5 * time.Second,
	hung:    10 * time.Minute,
	stop:    30 * time.Second,
	finish:  20 * time.Second,
	gone:    10 * time.Second,
	files:   2 * time.Minute,
	remove:  5 * time.Minute,
}
