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
//	                               +- Conclude -+     enough is measured
//
// Three kinds of steps differ. An idle one is only an intent: it is started with nobody, and recorded when
// its time is over. One that ends by what it measures is concluded, once somebody says that it may; that
// is a fact, so whoever comes back in the middle of it neither takes it for cut short nor concludes it
// again. One that cannot be repeated, such as the draining of a bucket that is empty now, ends with what it
// has when it loses a client.
//
// A job of MPI spans the clients of a target, and ends for all of them when one is lost. The others tell of that
// before anybody has seen the loss itself, so that such a failure waits for it, for a time.
//
// Every action may be repeated: loading what is loaded, starting what is started and stopping what
// has ended are no-ops at the agent.
package decide
