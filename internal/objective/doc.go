// Package objective judges what a run found by the objectives of its benchmark. It is pure: an objective
// and a status in, a verdict with its figures and a sentence out.
//
//	Met      the figure is within its bounds, on every target and in every cell that is judged
//	Missed   it is not, on one of them: the one that is farthest off is shown
//	Unknown  there is no figure to judge, such as a percentile with too few samples or a drain that
//	         did not end; the message says why and what to do
//
// A figure that is Unknown is never Met, and one that is Missed is not excused by another that is Unknown.
// Verdicts go by the figure itself; where a bound lies within its 95 % interval the message says so.
package objective
