// Package local runs a benchmark against directories of this machine, without a cluster. It plans, decides and conducts
// with the same code as the operator, and runs the same agents as child processes.
//
// No process or data may remain, no matter which process is killed. To ensure this, three kinds of processes watch one
// another:
//
//	guard   the process that the user started; it waits for the runner, and reports the run if the runner is killed
//	runner  plans and conducts the run, and prints the result
//	agents  one per client, each with its fio
//
// The guard holds a pipe (a lifeline) to the runner, and the runner holds one to each agent. When a pipe breaks, the
// process at its other end stops its load, removes its data and exits. Guard and runner are child subreapers: they
// adopt and kill the orphaned processes among their descendants.
package local
