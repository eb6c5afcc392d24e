// Package objective evaluates a run's results against the objectives of its benchmark. It has no side effects. From an
// objective and a run's status, it derives a verdict, the figures and a sentence that explains them.
//
//	Met      the figure is within its bounds, on every target and in every cell that is evaluated
//	Missed   the figure is out of bounds on at least one target or cell; the worst figure is shown
//	Unknown  the figure is missing, for example because a percentile has too few samples or a drain did
//	         not end; the message says why and what to do
//
// An unknown figure never counts as met. If any figure of an objective is missed, the objective is missed. The verdict
// depends only on the figure itself, not on its 95 % interval. If a bound lies within the interval, the message says
// so.
package objective
