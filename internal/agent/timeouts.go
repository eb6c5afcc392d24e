package agent

import "time"

// timeouts bound how long the agent waits for things that should happen by themselves.
type timeouts struct {
	// look is how often the tool's workers are looked at.
	look time.Duration
	// stalled is the age of an outstanding I/O at which it is worth a word.
	stalled time.Duration
	// hung is the age at which the tool counts as hung, where the step does not say. Network file
	// systems come back after minutes.
	hung time.Duration
	// stop is how long a tool that was told to stop may take without any I/O completing. What it has in
	// flight is behind that of all others: eight clients with 32 outstanding writes of 1 MiB each take 32 s
	// at the 8 MB/s of a store without credits, and each gets nothing for all of that but its own turn. It is
	// less than who conducts gives it, see decide.Policy.
	stop time.Duration
	// mpi is how long a job of MPI that was told to end may take to do so in good order. It tells its ranks by SIGTERM
	// and, a second later, by SIGKILL; what is inside an I/O then goes when that is done.
	mpi time.Duration
	// release is how long a member waits for the word that the job has ended, once its own daemon has, and hangUp
	// once its launcher has hung up: then client 0 is likely to be gone.
	release, hangUp time.Duration
	// finish is how long a tool may take to stop when the agent is to leave: a pod has 120 seconds
	// for all of it.
	finish time.Duration
	// gone is how long a tool that was killed may take to be gone. One that is inside an I/O that
	// does not come back never is.
	gone time.Duration
	// files is how long a look at a step's files may take once its tool is gone.
	files time.Duration
	// held is how long a client's last agent may take to go, longer than a pod is given and than a file server remembers
	// the locks of a machine that is gone; heldAtEnd the same when there is only data to be removed.
	held, heldAtEnd time.Duration
	// remove bounds the removal of one client's files on a volume.
	remove time.Duration
	// late is how long after its instant a step may still be started. Others have begun without this client by then, so
	// that it is better to begin anew, together.
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
	late:    500 * time.Millisecond,

	held:      3 * time.Minute,
	heldAtEnd: 10 * time.Second,
}
