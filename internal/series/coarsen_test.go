package series_test

import (
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/series"
)

// TestCoarseMinutesKeepOperations checks that coarsening drops whole minutes: if a minute has two operations, both or
// none are kept.
func TestCoarseMinutesKeepOperations(t *testing.T) {
	log := &series.Log{Steps: []series.Step{{ID: "00-mixed", Attempt: 1, Targets: []series.Target{{Name: "data"}}}}}
	target := &log.Steps[0].Targets[0]
	const minutes = 5000
	for i := range minutes {
		start := 1_800_000_000_000_000_000 + int64(i)*int64(time.Minute)
		for _, operation := range []measure.Operation{measure.Read, measure.Write} {
			target.Minutes = append(target.Minutes, series.Minute{StartNanoseconds: start, EndNanoseconds: start + int64(time.Minute),
				Operation: operation, Samples: uint64(1000 + i*i%977), P50: uint64(1e6 + i*i%99_991)})
		}
	}
	text, err := log.Encode(40_000)
	if err != nil {
		t.Fatal(err)
	}
	read, err := series.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	kept := map[measure.Operation]int{}
	for _, minute := range read.Steps[0].Targets[0].Minutes {
		kept[minute.Operation]++
	}
	if !read.Coarsened || kept[measure.Read] == 0 || kept[measure.Read] >= minutes || kept[measure.Read] != kept[measure.Write] {
		t.Errorf("of %d minutes are kept: %v, coarsened %t", minutes, kept, read.Coarsened)
	}
}
