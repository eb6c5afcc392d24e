// Package benchmarkrun conducts BenchmarkRuns: it creates the client pods, directs their agents from step to step, and
// records what happens.
//
//	observe   reads the run, its pods and the state of its agents; writes nothing
//	decide    chooses the next action with decide.Next, a pure function that local runs use too
//	apply     records the action in the status, and returns what to do once the status is stored
//	store     writes the status in one patch; if this fails, the action is not carried out
//	act       creates pods and claims, and sends commands to agents
//
// Everything that must be known after a crash is in the status before a command is sent to any agent. The in-memory
// state of a session (connections, samples of the live step) is rebuilt from the status, the pods and the agents' own
// logs.
package benchmarkrun
