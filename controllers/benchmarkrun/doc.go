// Package benchmarkrun carries out BenchmarkRuns: it makes the client pods, conducts their agents
// from step to step, and writes down what happened.
//
//	observe   the run, its pods, its agents: only reads
//	decide    decide.Next: pure, the same as in a local run
//	apply     notes facts in the status, and says what is to be done once they are stored
//	status    one patch; a fact that could not be stored has not happened
//	act       pods, claims, commands to agents
//
// What must be known after a crash is in the status before anybody is told of it. What a session
// holds in memory (connections, samples of the live step) is made again from the status, the pods
// and the agents' own logs.
package benchmarkrun
