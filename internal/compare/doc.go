// Package compare says which of two figures is better, by how much, and whether chance explains the difference. It is
// pure, and knows neither targets nor runs: a figure is a value with its interval, wherever both are from.
//
//	baseline  [----|----]                    other / baseline - 1, in the logarithm, so that
//	other                   [---|---]        a difference reads the same from both sides
//	          ==============[===|===]        an interval that holds 0: no difference
//
// The interval of the ratio is put together of those of the two figures by the method of variance estimates recovery
// (Zou and Donner, 2008): each side of it of the sides that face each other. It needs no normal distribution, and it
// holds where intervals are lopsided, as those of times are.
//
// What an interval does not say is how far another run would be off. Two figures of one run share all that is the same
// in it; only repeated runs tell the rest, and [FromRounds] takes theirs.
package compare
