package measure

import (
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestUntil checks that a series cut at an instant equals the whole series up to that instant.
func TestUntil(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := genSeries().Draw(t, "series")
		end := rapid.Int64Range(-1_000, 60_000).Draw(t, "end")
		part := whole.Until(end)
		if len(part.edges) > 0 && cap(part.edges) > 0 && &part.edges[0] != &whole.edges[0] {
			t.Fatal("the samples were copied")
		}
		for _, instant := range append(rapid.SliceOfN(rapid.Int64Range(-4_000, 60_000), 1, 20).Draw(t, "instants"), end) {
			if got, want := part.CountersAt(instant), whole.CountersAt(min(instant, end)); got != want && !stepAt(whole, min(instant, end)) {
				t.Fatalf("%v at %d, want %v", got, instant, want)
			}
			window := Window{StartNanoseconds: min(instant, 0), EndNanoseconds: max(instant, 0)}
			until := Window{StartNanoseconds: min(window.StartNanoseconds, end), EndNanoseconds: min(window.EndNanoseconds, end)}
			if got, want := part.CoveredNanoseconds(window), whole.CoveredNanoseconds(until); got != want {
				t.Fatalf("%v covers %d ns, want %d", window, got, want)
			}
		}
		// A series made of its samples is the same series.
		copied, err := NewSeries(part.Len(), slices.Values(samplesIn(part)))
		if err != nil {
			t.Fatal(err)
		}
		span, measured := part.Span()
		copiedSpan, copiedMeasured := copied.Span()
		if copied.Total() != part.Total() || span != copiedSpan || measured != copiedMeasured {
			t.Fatalf("%v in %v, its samples hold %v in %v", part.Total(), span, copied.Total(), copiedSpan)
		}
		for _, sample := range samplesIn(part) {
			if sample.EndNanoseconds > end {
				t.Fatalf("a sample ends at %d, after %d", sample.EndNanoseconds, end)
			}
		}
	})
}

// TestSeriesBytes checks that creating a series allocates the memory that SeriesBytes counts, and hardly more.
func TestSeriesBytes(t *testing.T) {
	const samples = 20_000
	mixed := func(yield func(Sample) bool) {
		for i := range int64(samples) {
			sample := reads(i*second, (i+1)*second, 1_000)
			if i%2 > 0 {
				sample.Counters[Write] = Counter{Bytes: 5, Operations: 1}
			}
			if !yield(sample) {
				return
			}
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := NewSeries(samples, MergeLate(mixed, second)); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	want := uint64(SeriesBytes(samples, 2))
	if got := after.TotalAlloc - before.TotalAlloc; got < want || got > want+want/10 {
		t.Errorf("%d bytes were allocated, %d are counted", got, want)
	}
}
