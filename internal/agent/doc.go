// Package agent is the process that runs in every client pod, or as a child of the CLI in local
// mode: it supervises one benchmark tool at a time and samples it. It decides nothing about the
// run; a conductor loads steps into it, starts them at an instant and reads its log.
//
//	conductor            agent                              tool (fio)
//	   | Load(step) ------> check mount, space, files
//	   |                    spawn ------------------------> waits for its job on stdin
//	   | Start(at) -------> wait for the instant, feed ---> job
//	   | <------ Watch ---- sample, sample, sample ... <--- json+ each second
//	   |                    Ended <------------------------ last json, exit code
//	   | Finish ----------> remove the data, exit
//
// A step of MPI has a part on every client of a target: client 0's agent runs mpirun, and the others start MPI's
// daemons for it (docs/design/0006-mpi.md).
//
// The agent is the log: it keeps all records until the run ends (Log). It keeps its own deadlines
// on the monotonic clock and, when nobody talks to it any more, stops its load, removes its data
// and leaves by itself. No process of the tool outlives it.
package agent
