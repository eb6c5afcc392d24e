// Package agent implements the process that runs in every client pod, or as a child of the CLI in local mode. It
// supervises one benchmark tool at a time and samples it. It decides nothing about the run: a conductor loads steps
// into it, starts them at a given instant, and reads its log.
//
//	conductor            agent                              tool (fio)
//	   | Load(step) ------> check mount, space, files
//	   |                    spawn ------------------------> waits for its job on stdin
//	   | Start(at) -------> wait for the instant, feed ---> job
//	   | <------ Watch ---- sample, sample, sample ... <--- json+ each second
//	   |                    Ended <------------------------ last json, exit code
//	   | Finish ----------> remove the data, exit
//
// This package is the core: the server, the start barrier and the log. It knows tools only through package tool,
// except for the list of tools in tools.go. Packages fio, mpi and command are the tools, and package volumes prepares
// and examines the files that they use.
//
// The agent keeps all records in its log until the run ends (see Log). It enforces its deadlines itself, on the
// monotonic clock. If it loses its conductor, it stops its load, removes its data and exits. No process of the tool
// outlives it.
package agent
