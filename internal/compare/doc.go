// Package compare decides which of two figures is better, by how much, and whether chance explains the difference.
// It has no side effects. Its core is independent of targets and runs: it compares figures, each of which is a value
// with an interval.
//
//	baseline  [----|----]                    other / baseline - 1, computed in logarithms, so that
//	other                   [---|---]        swapping the two figures only reverses the sign
//	          ==============[===|===]        an interval that contains 0: no difference
//
// The interval of the ratio is derived from the intervals of the two figures by the method of variance estimates
// recovery (MOVER; Zou and Donner, 2008). Each end of the ratio's interval combines the lower half of one figure's
// interval with the upper half of the other's. The method does not assume a normal distribution and is valid for
// asymmetric intervals, such as the intervals of times.
//
// The interval does not cover the differences between runs, because two figures of one run share all conditions of that
// run. Only repeated runs show how much the figures of different runs vary; [FromRounds] uses them.
package compare
