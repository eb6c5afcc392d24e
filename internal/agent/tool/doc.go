// Package tool defines the agent's interface to its tools, and contains the code that the tools share. Each tool is a
// sibling package (fio, mpi, command); package agent lists them all. The agent's core, which serves the conductor,
// keeps the log and holds the start barrier, knows tools only through this package's interfaces.
//
//	Describe    returns the tool's programs and their versions, before the first step
//	Load        checks a step and prepares its load, which waits for the start
//	Load.Run    runs the load until the last process of the tool has exited
//
// A tool whose process waits for the start also implements Waiting. A tool that keeps processes running between steps
// implements io.Closer; the agent closes it before it exits.
//
// A tool writes its samples and notices to the step's log, and returns the figures as the step's result. Package
// volumes prepares, checks and examines the files on the storage under test. Each tool decides which processes it
// starts and how it stops them, and interprets their output.
//
// If its tool does not exit first, a step ends at its deadline on the agent's clock. If Stopped is canceled, the step
// ends earlier, with the results so far. If Abandoned is closed, it ends at once. All processes of the tool must have
// exited when Run returns.
package tool
