package series

import (
	"slices"
	"testing"
)

// TestTogether checks that merging yields each step once, with its newest attempt, whatever the order of the parts.
func TestTogether(t *testing.T) {
	parts := []*Log{
		{Steps: []Step{{ID: "02-read", Attempt: 1}}},
		{Steps: []Step{{ID: "01-write", Attempt: 10}}, Coarsened: true},
		{Steps: []Step{{ID: "9-of-nobody", Attempt: 1}}},
		{Steps: []Step{{ID: "01-write", Attempt: 2}}},
		{Steps: []Step{{ID: "00-layout", Attempt: 1}}},
	}
	for range 2 {
		whole := Merge(parts, []string{"00-layout", "01-write", "02-read"})
		var got []string
		for _, step := range whole.Steps {
			got = append(got, step.ID)
		}
		if want := []string{"00-layout", "01-write", "02-read", "9-of-nobody"}; !slices.Equal(got, want) || !whole.Coarsened {
			t.Errorf("got %q, coarsened %t", got, whole.Coarsened)
		}
		if attempt := whole.Step("01-write").Attempt; attempt != 10 {
			t.Errorf("attempt %d", attempt)
		}
		slices.Reverse(parts)
	}
	if !Merge(nil, nil).Empty() {
		t.Error("merging nothing returns a log that is not empty")
	}
}
