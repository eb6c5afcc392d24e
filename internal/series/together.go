package series

import (
	"cmp"
	"slices"
)

// Together is one log of the parts in which the steps of a run were kept: of each step its newest attempt, in the order
// of these steps. What is of no such step comes last.
func Together(parts []*Log, order []string) *Log {
	var steps []Step
	whole := &Log{}
	for _, part := range parts {
		steps = append(steps, part.Steps...)
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
