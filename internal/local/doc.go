// Package local runs a benchmark against directories of this machine, without a cluster. It uses the operator's
// plan, decisions, conductor and agents; the agents are child processes.
//
// No process or data may remain, whichever process is killed. To ensure this, three kinds of processes watch one
// another:
//
//	guard   the process that the user started; waits, and reports if the runner is killed
//	runner  plans, conducts, prints the result
//	agents  one per client, each with its fio
//
// Each holds a pipe (a lifeline) to the next lower process. When the pipe breaks, the lower process stops its load,
// removes its data and exits. Guard and runner are child subreapers: they adopt and end the orphans among their
// descendants.
package local
