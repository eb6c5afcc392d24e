package series

import (
	"cmp"
	"slices"
)

// Merge combines the partial logs of a run into one log. It keeps the newest attempt of each step, and sorts the
// steps in the order of the given step IDs. Steps whose ID is not among them come last.
func Merge(parts []*Log, order []string) *Log {
	var steps []Step
	whole := &Log{}
	for _, part := range parts {
		steps = append(steps, part.Steps...)
		whole.Observed = append(whole.Observed, part.Observed...)
		whole.Coarsened = whole.Coarsened || part.Coarsened
	}
	place := func(step Step) int {
		if at := slices.Index(order, step.ID); at >= 0 {
			return at
		}
		return len(order)
	}
	slices.SortStableFunc(steps, func(a, b Step) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Attempt, b.Attempt))
	})
	for _, step := range steps {
		whole.Add(step)
	}
	return whole
}
