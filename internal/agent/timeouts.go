package agent

import "time"

// timeouts bound how long the agent waits for events that should happen by themselves.
type timeouts struct {
	// look is how often the tool's workers are checked.
	look time.Duration
	// stalled is the age of an outstanding I/O at which a notice is logged.
	stalled time.Duration
	// hung is the age of an outstanding I/O at which the tool counts as hung, unless the step sets it. Network file
	// systems come back after minutes.
	hung time.Duration
	// stop is how long a tool that was told to stop may go without completing any I/O. Its I/O in flight waits behind
	// that of all other clients: eight clients with 32 outstanding writes of 1 MiB each take 32 s at the 8 MB/s of a
	// store without credits, and each gets nothing in that time but its own turn. It is less than the conductor
	// allows, see decide.Policy.
	stop time.Duration
	// mpi is how long an MPI job that was told to end may take to do so properly. mpirun sends its ranks SIGTERM and,
	// a second later, SIGKILL; a rank that is inside an I/O then ends when the I/O is done.
	mpi time.Duration
	// release is how long a member waits for the message that the job has ended, after its own daemon has ended.
	// hangUp is the same after its launcher has hung up, when client 0 is probably gone.
	release, hangUp time.Duration
	// finish is how long a tool may take to stop when the agent has to leave: a pod has 120 seconds for everything.
	finish time.Duration
	// gone is how long a killed tool may take to be gone. A tool inside an I/O that never completes is never gone.
	gone time.Duration
	// files is how long examining a step's files may take once its tool is gone.
	files time.Duration
	// held is how long to wait for a client's previous agent to go: longer than the grace period of a pod, and longer
	// than a file server keeps the locks of a machine that is gone. heldAtEnd is the same when data is only to be
	// removed.
	held, heldAtEnd time.Duration
	// remove bounds the removal of clients' files on one volume.
	remove time.Duration
	// setup bounds a setup that runs again while its step is loaded, before the step has a deadline, unless the step
	// sets it. No run lasts longer than the default.
	setup time.Duration
	// late is how long after its start instant a step may still be started. Later than that, other clients have begun
	// without this one, and it is better for all to begin again together.
	late time.Duration
}

var defaultTimeouts = timeouts{
	look:    time.Second,
	stalled: 5 * time.Second,
	hung:    10 * time.Minute,
	stop:    90 * time.Second,
	mpi:     15 * time.Second,
	release: 10 * time.Second,
	hangUp:  2 * time.Second,
	finish:  20 * time.Second,
	gone:    10 * time.Second,
	files:   2 * time.Minute,
	remove:  5 * time.Minute,
	setup:   7 * 24 * time.Hour,
	late:    500 * time.Millisecond,

	held:      3 * time.Minute,
	heldAtEnd: 10 * time.Second,
}
