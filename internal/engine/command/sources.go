package command

import (
	"cmp"
	"slices"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine"
)

// Count holds the I/O that one source counted.
type Count = engine.Count

// Order lists the sources in order of preference.
var Order = []v1alpha1.CommandSource{v1alpha1.SourceMount, v1alpha1.SourceControlGroup, v1alpha1.SourceStorage, v1alpha1.SourceCalls}

// Sort sorts counts in order of preference.
func Sort(counts []Count) {
	slices.SortStableFunc(counts, func(a, b Count) int {
		return cmp.Compare(slices.Index(Order, a.Source), slices.Index(Order, b.Source))
	})
}

// Known reports whether source is in Order.
func Known(source v1alpha1.CommandSource) bool { return slices.Contains(Order, source) }

// Choice is the count to use, together with the count that differs most from it.
type Choice struct {
	Count
	// Other is the count that differs most. Direction, "read" or "written", is the direction with the largest
	// difference. Share is the difference divided by the larger of the two counts, from 0 to 1. Compared is false if
	// there is no other count.
	Other     Count
	Direction string
	Share     float64
	Compared  bool
}

// notableBytes and notableShare define the threshold above which the bytes of a direction are compared: the larger of
// an absolute number and a share of all bytes. Smaller counts normally differ, because every program reads its
// libraries and may print a line at its end.
const (
	notableBytes = 1 << 20
	notableShare = 0.02
)

// Choose returns the count to use, or false if there is none.
func Choose(counts []Count) (Choice, bool) {
	if len(counts) == 0 {
		return Choice{}, false
	}
	usable := slices.Clone(counts)
	Sort(usable)
	choice := Choice{Count: usable[0]}
	for _, other := range usable[1:] {
		choice.Compared = true
		most := max(choice.ReadBytes, other.ReadBytes) + max(choice.WriteBytes, other.WriteBytes)
		least := max(notableBytes, uint64(notableShare*float64(most)))
		for _, pair := range []struct {
			direction   string
			mine, other uint64
		}{{"read", choice.ReadBytes, other.ReadBytes}, {"written", choice.WriteBytes, other.WriteBytes}} {
			larger, smaller := max(pair.mine, pair.other), min(pair.mine, pair.other)
			if larger < least {
				continue
			}
			if share := 1 - float64(smaller)/float64(larger); share > choice.Share {
				choice.Share, choice.Other, choice.Direction = share, other, pair.direction
			}
		}
	}
	return choice, true
}
