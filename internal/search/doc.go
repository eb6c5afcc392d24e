// Package search decides which rate a search offers next, and when it has found the highest rate that meets its
// objective. It has no state: [Question.Next] computes the next rate from the measurements so far, so a restarted
// conductor makes the same decision from the same measurements.
//
//	rate
//	 max |                 x                        x missed the objective, o met it
//	     |            x
//	     |               x   x
//	     |                 o   o ooooo              five confirmations at the highest rate that met it
//	     |        o     o
//	     |     o
//	 min |  o
//	     +------------------------------> steps
//	       double  bisect    confirm
//
// A step misses the objective if it completes fewer operations than were offered, or if too large a share of its
// operations is slower than the objective allows. The first condition takes precedence: in an overload, the latency is
// dominated by the queue in front of the clients' jobs, and says nothing about the store.
//
// A rate is confirmed if, over five steps, the upper end of the 95 % interval of the share of slow operations meets the
// objective. Each step contributes its share as one value: successive operations in a queue are not independent, so
// counting them individually would make the interval too narrow. If a rate is not confirmed, the search tries lower
// rates, and the differences between successive rates become larger.
package search
