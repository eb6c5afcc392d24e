// Package local runs a benchmark against directories of this machine, without a cluster: the same
// plan, decisions, conductor and agents as the operator's, the agents being child processes.
//
// Nothing may stay behind, whoever is killed, so three kinds of process watch each other:
//
//	guard   what the user started; waits, and speaks for a killed runner
//	runner  plans, conducts, prints the result
//	agents  one a client, each with its fio
//
// Each holds a pipe (a lifeline) to the next one down; when it breaks the lower end stops its load,
// removes its data and leaves. Guard and runner are child subreapers: what is orphaned below them
// comes to them and is ended by them.
package local
