package command

import (
	"cmp"
	"slices"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Count is what one source has counted.
type Count struct {
	Source v1alpha1.CommandSource
	// Bytes by direction.
	ReadBytes, WriteBytes uint64
	// HasOperations says that it counts operations too.
	HasOperations                   bool
	ReadOperations, WriteOperations uint64
}

// order is that in which sources are believed.
var order = []v1alpha1.CommandSource{v1alpha1.SourceMount, v1alpha1.SourceControlGroup, v1alpha1.SourceStorage, v1alpha1.SourceCalls}

// Sort puts counts into the order in which they are believed.
func Sort(counts []Count) {
	slices.SortStableFunc(counts, func(a, b Count) int {
		return cmp.Compare(slices.Index(order, a.Source), slices.Index(order, b.Source))
	})
}

// Known reports whether a source is one of ours.
func Known(source v1alpha1.CommandSource) bool { return slices.Contains(order, source) }

// Choice is the count that is believed, and how far the worst of the others is from it.
type Choice struct {
	Count
	// Other is the one that differs most; Direction is "read" or "written". Share is the difference over the
	// larger count, from 0 to 1. Compared is false where there is nothing to compare with.
	Other     Count
	Direction string
	Share     float64
	Compared  bool
}

// notable is how many bytes of a direction are worth a comparison, absolutely and as a share of all: a
// program reads its libraries, and writes a line to say that it is done.
const (
	notableBytes = 1 << 20
	notableShare = 0.02
)

// Choose gives the count that is believed. crowded says that others of the run are on the same machine, so
// that its mount counts them too. It is false where there are no counts.
func Choose(counts []Count, crowded bool) (Choice, bool) {
	usable := slices.DeleteFunc(slices.Clone(counts), func(c Count) bool { return crowded && c.Source == v1alpha1.SourceMount })
	if len(usable) == 0 {
		return Choice{}, false
	}
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

// Bytes of a direction, "read" or "written".
func (c Count) Bytes(direction string) uint64 {
	if direction == "written" {
		return c.WriteBytes
	}
	return c.ReadBytes
}
