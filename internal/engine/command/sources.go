package command

import (
	"cmp"
	"slices"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine"
)

// Count is a program's I/O, as counted by one source.
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

// Choice is the count to use for a program, together with the most different count of all other sources.
type Choice struct {
	Count
	// Other is the count that differs most from the chosen one. Direction, "read" or "written", is the direction in
	// which they differ most. Share is the difference in this direction divided by the larger of the two counts, from 0
	// to 1. Compared is false if there is only one count.
	Other     Count
	Direction string
	Share     float64
	Compared  bool
}

// notableBytes and notableShare are minimums for comparing two counts of reads, or two counts of writes: the larger one
// must be at least notableBytes, and at least notableShare of all bytes read and written. Smaller counts normally
// differ, because every program reads its libraries and may print a line when it ends.
const (
	notableBytes = 1 << 20
	notableShare = 0.02
)

// Choose returns the count of the most preferred source, together with the count that differs most from it. It returns
// false if counts is empty.
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
			if choice.Source == v1alpha1.SourceMount && other.Source == v1alpha1.SourceStorage && pair.other == 0 {
				continue // the kernel's SMB client does not count direct I/O in read_bytes of /proc/PID/io (Linux 6.1)
			}
			if share := 1 - float64(smaller)/float64(larger); share > choice.Share {
				choice.Share, choice.Other, choice.Direction = share, other, pair.direction
			}
		}
	}
	return choice, true
}
