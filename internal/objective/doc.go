// Package objective evaluates a run's results against the objectives of its benchmark. It is pure: it turns an
// objective and a status into a verdict with its figures and a sentence.
//
//	Met      the figure is within its bounds, on every target and in every cell that is evaluated
//	Missed   the figure is out of bounds on at least one target or cell; the worst figure is shown
//	Unknown  there is no figure to evaluate, such as a percentile with too few samples or a drain that
//	         did not end; the message says why and what to do
//
// An Unknown figure is never Met. If another figure is Missed, so is the objective. The figure itself decides the
// verdict; if a bound lies within its 95 % interval, the message says so.
package objective
