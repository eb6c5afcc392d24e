// Package benchmarkrun conducts BenchmarkRuns: it creates the client pods, directs their agents from step to step, and
// records what happens.
//
//	observe   the run, its pods, its agents: reads only
//	decide    decide.Next: pure, the same as in a local run
//	apply     records the action in the status, and returns what to do once the status is stored
//	store     writes the status in one patch; if this fails, the action is not carried out
//	act       creates pods and claims, and sends commands to agents
//
// Everything that must be known after a crash is in the status before any agent gets a command. What a session holds in
// memory (connections, samples of the live step) is rebuilt from the status, the pods and the agents' own logs.
package benchmarkrun
