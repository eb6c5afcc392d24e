package tool

import "time"

// Timeouts limits how long the agent waits for events that normally occur without its intervention.
type Timeouts struct {
	// Look is the interval at which the tool's workers are checked.
	Look time.Duration
	// Stalled is the age of an outstanding I/O at which a notice is logged.
	Stalled time.Duration
	// Hung is the age of an outstanding I/O at which the tool counts as hung, unless the step sets another age.
	// Network file systems can recover after minutes.
	Hung time.Duration
	// Stop limits how long a tool that was asked to stop may go without completing any I/O. Its I/O in flight queues
	// behind the I/O of all other clients: eight clients with 32 outstanding writes of 1 MiB each take 32 s at the 8
	// MB/s of storage without credits, and a client may have to wait that long for its next completion. The conductor
	// allows more time than this; see decide.Policy.
	Stop time.Duration
	// Terminate limits how long a tool that received SIGTERM may take to exit. mpirun sends its ranks SIGTERM and, a
	// second later, SIGKILL; a rank that is blocked on an I/O exits when that I/O completes.
	Terminate time.Duration
	// Release limits how long a member of an MPI job waits, after its own daemon has exited, for the Release call that
	// ends the job. HangUp limits how long it waits after its launcher has disconnected, which usually means that client 0
	// is gone.
	Release, HangUp time.Duration
	// Finish limits how long a tool may take to stop when the agent must exit. A pod has 120 seconds for its whole
	// shutdown.
	Finish time.Duration
	// Gone limits how long a killed tool may take to exit. A tool that is blocked on an I/O that never completes does not
	// exit.
	Gone time.Duration
	// Files limits the time for examining a step's files after its tool has exited.
	Files time.Duration
	// Held limits how long to wait for a client's previous agent to exit. Held exceeds a pod's grace period, and the time
	// after which a file server drops the locks of a machine that is gone. HeldAtEnd replaces Held if the data only needs
	// to be removed.
	Held, HeldAtEnd time.Duration
	// Remove limits the time for removing clients' files from one volume.
	Remove time.Duration
	// Setup limits the run time of a setup command that a repeated step runs again while it is being loaded, before its
	// deadline is set. The step can set another limit. The default, seven days, is the maximum duration of a run.
	Setup time.Duration
	// Late limits how long after its start instant a step may still be started. After that, the other clients have run too
	// long without this client, and all clients should repeat the step together.
	Late time.Duration
}

// DefaultTimeouts returns the timeouts used outside tests.
func DefaultTimeouts() Timeouts {
	return Timeouts{
		Look:      time.Second,
		Stalled:   5 * time.Second,
		Hung:      10 * time.Minute,
		Stop:      90 * time.Second,
		Terminate: 15 * time.Second,
		Release:   10 * time.Second,
		HangUp:    2 * time.Second,
		Finish:    20 * time.Second,
		Gone:      10 * time.Second,
		Files:     2 * time.Minute,
		Remove:    5 * time.Minute,
		Setup:     7 * 24 * time.Hour,
		Late:      500 * time.Millisecond,

		Held:      3 * time.Minute,
		HeldAtEnd: 10 * time.Second,
	}
}
