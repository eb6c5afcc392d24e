// Package decide chooses the next action of a run.
//
// It makes all decisions of a run, for the operator and for local runs alike. Next is pure: it takes the current time
// and a Snapshot, which holds everything known about the run. It returns one action. The caller executes the action,
// records the outcome, and calls Next again. Next remembers nothing between calls, so a caller that dies at any point
// and restarts gets the same answer from the same snapshot.
//
//	            +--------- replacement ---------+
//	            v                               |
//	agents -> Load -> Start -> (running) -> Record -> next step ... -> Finish -> Done
//	            |        |         |            ^
//	            +--------+---------+-- Stop ----+     a failure, a loss or a cancellation
//	                               +- Conclude -+     enough is measured
//
// Three kinds of steps are special. An idle step involves no clients: its start and end are recorded in advance, and it
// is done when its time has passed. A step that ends once it has measured enough is concluded when the caller reports
// that the step may end. The conclusion is recorded, so a caller that restarts neither treats the step as interrupted
// nor concludes it again. Some steps cannot be repeated, such as a drain, which leaves the bucket empty. If such a step
// loses a client, it ends with its results so far.
//
// An MPI job spans the clients of a target and ends for all of them when one client is lost. The other clients report a
// failure before the loss itself is detected, so after such a failure, Next waits a limited time for the loss to be
// detected. A loaded job holds the addresses of its clients. If an earlier conductor loaded it and a client has been
// replaced since then, the step is repeated.
//
// Every action may be repeated: loading a loaded step, starting a started step and stopping an ended step are no-ops at
// the agent.
//
// The rules that every decision must obey are in rules_test.go. Tests check random runs against these rules; `make
// soak` checks a million runs.
package decide
