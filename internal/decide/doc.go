// Package decide says what a run does next.
//
// It is the one place where a run's decisions are made, for the operator and for a local run
// alike. Next is pure: it takes all recorded facts and the present time and returns one action;
// whoever calls it carries the action out, records what came of it as a fact, and asks again.
// Nothing is remembered between calls, so a caller that dies at any line and comes back gets the
// same answer from the same facts.
//
//	            +--------- replacement ---------+
//	            v                               |
//	agents -> Load -> Start -> (running) -> Record -> next step ... -> Finish -> Done
//	            |        |         |            ^
//	            +--------+---------+-- Stop ----+     a failure, a loss or a cancel
//
// Every action may be repeated: loading what is loaded, starting what is started and stopping what
// has ended are no-ops at the agent.
package decide
