package series_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/storagebench/storagebench/internal/series"
)

// TestObserved checks that observations survive encoding, that points are dropped if they do not fit, and that merging
// keeps observations.
func TestObserved(t *testing.T) {
	log := &series.Log{Observed: []series.Observed{{Name: "level", Step: "01-burst", Labels: `{a="b"}`}}}
	for i := range 1000 {
		log.Observed[0].Points = append(log.Observed[0].Points, series.ObservedPoint{Nanoseconds: 1_800_000_000_000_000_000 + int64(i)*15_000_000_000, Value: 1 / float64(i+1)})
	}
	read := func(limit int) *series.Log {
		text, err := log.Encode(limit)
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := series.Decode(text)
		if err != nil {
			t.Fatal(err)
		}
		return decoded
	}
	if diff := cmp.Diff(log.Observed, read(0).Observed); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
	small := read(2000)
	if n := len(small.Observed[0].Points); !small.Coarsened || n == 0 || n >= 1000 || small.Observed[0].Points[0] != log.Observed[0].Points[0] {
		t.Errorf("of 1000 points %d are left, coarsened %t", n, small.Coarsened)
	}
	if len(log.Observed[0].Points) != 1000 {
		t.Error("encoding has changed the log")
	}
	merged := series.Merge([]*series.Log{{Steps: []series.Step{{ID: "01-burst", Attempt: 1}}}, log}, []string{"01-burst"})
	if len(merged.Steps) != 1 || len(merged.Observed) != 1 || merged.Empty() || log.Empty() {
		t.Errorf("merged are %d steps and %d observations", len(merged.Steps), len(merged.Observed))
	}
}
