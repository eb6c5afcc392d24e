// Package tool defines what a tool is to the agent, and holds what tools share. Each tool is a package beside this one
// (fio, mpi, command); the table in package agent lists them all. The agent's core, which serves the conductor, keeps
// the log and holds the start barrier, knows tools only by this package's interfaces.
//
//	Describe    the tool's programs and their versions, before the first step
//	Load        checks a step and prepares its load, which waits for the start
//	Load.Run    from the start to the end of the last process of the tool
//
// A tool whose process waits for the start also implements Waiting. One that keeps something between steps implements
// io.Closer; it is closed when the agent exits.
//
// A tool writes its samples and notices to the step's log, and returns the figures as the step's result. Files on the
// storage under test are prepared, checked and examined by package volumes; which processes it starts, how it stops
// them and what their output means is the tool's own affair.
//
// A step ends in one of three ways besides by itself: at its deadline, on the agent's clock; when Stopped ends, with
// the results so far; and when Abandoned is closed, at once. However it ends, no process of the tool may outlive Run.
package tool
