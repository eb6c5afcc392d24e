package agent

import "time"

// timeouts bound the agent's waits for events that normally happen by themselves.
type timeouts struct {
	// look is the interval at which the tool's workers are checked.
	look time.Duration
	// stalled is the age of an outstanding I/O at which a notice is logged.
	stalled time.Duration
	// hung is the age of an outstanding I/O at which the tool counts as hung, unless the step sets it. Network file
	// systems can recover after minutes.
	hung time.Duration
	// stop is how long a tool that was asked to stop may go without completing any I/O. Its I/O in flight queues
	// behind that of all other clients: eight clients with 32 outstanding writes of 1 MiB each take 32 s at the 8
	// MB/s of storage without credits, and a client may have to wait that long for its next completion. It is less
	// than the conductor allows, see decide.Policy.
	stop time.Duration
	// mpi is how long an MPI job that was asked to stop may take to do so properly. mpirun sends its ranks SIGTERM
	// and, a second later, SIGKILL; a rank that is inside an I/O exits when that I/O completes.
	mpi time.Duration
	// release is how long a member waits for Release (the job has ended) after its own daemon has exited. hangUp is
	// the same after its launcher has disconnected, which usually means that client 0 is gone.
	release, hangUp time.Duration
	// finish is how long a tool may take to stop when the agent has to exit: a pod has 120 seconds for everything.
	finish time.Duration
	// gone is how long a killed tool may take to exit. A tool inside an I/O that never completes never exits.
	gone time.Duration
	// files bounds the examination of a step's files after its tool has exited.
	files time.Duration
	// held is how long to wait for a client's previous agent to exit. It exceeds a pod's grace period, and the time
	// for which a file server keeps the locks of a machine that is gone. heldAtEnd is the same if the data is only
	// to be removed.
	held, heldAtEnd time.Duration
	// remove bounds the removal of clients' files on one volume.
	remove time.Duration
	// setup bounds a setup command that runs again while its step is loaded, when the step has no deadline yet,
	// unless the step sets it. No run lasts longer than the default.
	setup time.Duration
	// late is how long after its start instant a step may still be started. After that, the other clients have been
	// running too long without this one, and all clients should repeat the step together.
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
