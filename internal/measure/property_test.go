package measure

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// genNanoseconds draws latencies of all magnitudes, and often equal ones.
func genNanoseconds() *rapid.Generator[uint64] {
	return rapid.Custom(func(t *rapid.T) uint64 {
		if rapid.Bool().Draw(t, "few values") {
			return rapid.SampledFrom([]uint64{0, 1, 127, 128, 4_000, 99_999, 20_000_000_000}).Draw(t, "value")
		}
		return rapid.Uint64().Draw(t, "bits") >> rapid.UintRange(0, 63).Draw(t, "shift")
	})
}

func genLatency() *rapid.Generator[Latency] {
	return rapid.Custom(func(t *rapid.T) Latency {
		var l Latency
		for range rapid.IntRange(0, 12).Draw(t, "kinds") {
			l.AddNanoseconds(genNanoseconds().Draw(t, "ns"), rapid.Uint64Range(0, 1<<40).Draw(t, "n"))
		}
		return l
	})
}

func mustEncode(t *rapid.T, l *Latency) []byte {
	b, err := l.AppendBinary(nil)
	if err != nil {
		t.Fatalf("encode: %v", err)
	}
	return b
}

// mergeRandomly merges parts in a random order and grouping into one Latency.
func mergeRandomly(t *rapid.T, parts []Latency) Latency {
	pool := rapid.Permutation(parts).Draw(t, "order")
	for len(pool) > 1 {
		into := rapid.IntRange(0, len(pool)-1).Draw(t, "into")
		from := rapid.IntRange(0, len(pool)-2).Draw(t, "from")
		if from >= into {
			from++
		}
		merged := pool[into]
		merged.Merge(&pool[from])
		pool[into] = merged
		pool = append(append([]Latency(nil), pool[:from]...), pool[from+1:]...)
	}
	return pool[0]
}

func TestMergeInAnyOrderAndGrouping(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(genLatency(), 1, 9).Draw(t, "parts")
		before := make([][]byte, len(parts))
		for i := range parts {
			before[i] = mustEncode(t, &parts[i])
		}
		var inOrder Latency
		for i := range parts {
			inOrder.Merge(&parts[i])
		}
		want := mustEncode(t, &inOrder)
		for range 3 {
			other := mergeRandomly(t, parts)
			if got := mustEncode(t, &other); !bytes.Equal(got, want) {
				t.Fatalf("another order or grouping gives %x, want %x", got, want)
			}
		}
		var count uint64
		for i := range parts {
			count += parts[i].Count
			if !bytes.Equal(mustEncode(t, &parts[i]), before[i]) {
				t.Fatalf("part %d was changed by merging", i)
			}
		}
		if inOrder.Count != count || inOrder.Histogram.Count() != count {
			t.Fatalf("%d operations, %d in bins, want %d", inOrder.Count, inOrder.Histogram.Count(), count)
		}
	})
}

func TestSubInvertsMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		earlier, added := genLatency().Draw(t, "earlier"), genLatency().Draw(t, "added")
		later := earlier
		later.Merge(&added)
		difference, err := later.Sub(&earlier)
		if err != nil {
			t.Fatal(err)
		}
		if difference.Count != added.Count || difference.SumNanoseconds != added.SumNanoseconds {
			t.Fatalf("difference of %d operations and %v ns, want %d and %v",
				difference.Count, difference.SumNanoseconds, added.Count, added.SumNanoseconds)
		}
		ours, errOurs := difference.Histogram.MarshalBinary()
		want, errWant := added.Histogram.MarshalBinary()
		if errOurs != nil || errWant != nil || !bytes.Equal(ours, want) {
			t.Fatalf("bins %x (%v), want %x (%v)", ours, errOurs, want, errWant)
		}
		if difference.MinNanoseconds > added.MinNanoseconds || difference.MaxNanoseconds < added.MaxNanoseconds {
			t.Fatalf("bounds %d to %d do not hold %d to %d",
				difference.MinNanoseconds, difference.MaxNanoseconds, added.MinNanoseconds, added.MaxNanoseconds)
		}
	})
}

func TestEncodingRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := genLatency().Draw(t, "latency")
		var back Latency
		if err := back.UnmarshalBinary(mustEncode(t, &l)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(mustEncode(t, &back), mustEncode(t, &l)) {
			t.Fatal("data that was read differs from data that was written")
		}
		text, err := l.Histogram.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var fromJSON Histogram
		if err := fromJSON.UnmarshalJSON(text); err != nil {
			t.Fatal(err)
		}
		back.Histogram = fromJSON
		if !bytes.Equal(mustEncode(t, &back), mustEncode(t, &l)) {
			t.Fatal("what was read from JSON is not what was written")
		}
	})
}

func TestPercentilesAscend(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := genLatency().Filter(func(l Latency) bool { return l.Count > 0 }).Draw(t, "latency")
		var last uint64
		for _, p := range []float64{1e-6, 1, 33.3, 50, 99, 99.9, 99.999, 100} {
			ns, ok := l.Histogram.PercentileUnchecked(p)
			if !ok || ns < last {
				t.Fatalf("p%v = %d, %v after %d", p, ns, ok, last)
			}
			last = ns
		}
		if low, high := keyOf(bucketOf(l.MinNanoseconds)), keyOf(bucketOf(l.MaxNanoseconds)); last != high {
			t.Fatalf("p100 = %d, the greatest is in the bucket %d, the least in %d", last, high, low)
		}
	})
}

// genSeries draws a client's samples: irregular, with gaps, and some without a length.
func genSeries() *rapid.Generator[*Series] {
	return rapid.Custom(func(t *rapid.T) *Series {
		now := rapid.Int64Range(-3_000, 3_000).Draw(t, "start")
		series := &Series{}
		warm := rapid.IntRange(0, 2).Draw(t, "warm-up samples")
		for i := range rapid.IntRange(0, 8).Draw(t, "samples") {
			now += rapid.SampledFrom([]int64{0, 0, 0, 1, 70, 900}).Draw(t, "gap")
			sample := Sample{StartNanoseconds: now, WarmUp: i < warm}
			now += rapid.SampledFrom([]int64{0, 1, 3, 100, 1_000, 5_500}).Draw(t, "length")
			sample.EndNanoseconds = now
			for operation := range sample.Counters {
				sample.Counters[operation] = Counter{
					Bytes:      rapid.Uint64Range(0, 1<<50).Draw(t, "bytes"),
					Operations: rapid.Uint64Range(0, 1<<20).Draw(t, "operations"),
				}
			}
			if err := series.Append(sample); err != nil {
				t.Fatal(err)
			}
		}
		return series
	})
}

func addUp(t *rapid.T, sum *[NumOperations]Counter, more [NumOperations]Counter) {
	for i, c := range more {
		sum[i].Bytes += c.Bytes
		sum[i].Operations += c.Operations
		if sum[i].Bytes > 1<<60 {
			t.Fatalf("%d bytes are more than there can be", sum[i].Bytes)
		}
	}
}

func TestGridConservesEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clients := rapid.SliceOfN(genSeries(), 0, 5).Draw(t, "clients")
		window := Window{-10_000, 100_000}
		for _, client := range clients {
			for i := range client.Len() {
				window.StartNanoseconds = min(window.StartNanoseconds, client.At(i).StartNanoseconds-1)
				window.EndNanoseconds = max(window.EndNanoseconds, client.At(i).EndNanoseconds)
			}
		}
		grid, err := SumOver(window, rapid.SampledFrom([]int64{1_000, 77, 1_000_000}).Draw(t, "step"), clients...)
		if err != nil {
			t.Fatal(err)
		}
		var want, got [NumOperations]Counter
		for _, client := range clients {
			addUp(t, &want, client.Total())
		}
		for _, cell := range grid.Cells {
			addUp(t, &got, cell)
		}
		if got != want {
			t.Fatalf("the cells hold %v, the samples %v", got, want)
		}
		rates, err := Throughput(clients, window)
		if err != nil {
			t.Fatal(err)
		}
		for i, rate := range rates {
			if rate.Counter != want[i] {
				t.Fatalf("the window over all holds %v of %v, the samples %v", rate.Counter, Operation(i), want[i])
			}
		}
	})
}

func TestInterpolationNeverFallsAndAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		series := genSeries().Draw(t, "series")
		instants := rapid.SliceOfN(rapid.Int64Range(-4_000, 60_000), 2, 20).Draw(t, "instants")
		for _, a := range instants {
			for _, b := range instants {
				if a > b {
					continue
				}
				early, late := series.CountersAt(a), series.CountersAt(b)
				for i := range early {
					if early[i].Bytes > late[i].Bytes || early[i].Operations > late[i].Operations {
						t.Fatalf("%v at %d, but %v at %d", early[i], a, late[i], b)
					}
				}
				middle := a + (b-a)/3
				var parts [NumOperations]Counter
				addUp(t, &parts, series.CountersIn(Window{a, middle}))
				addUp(t, &parts, series.CountersIn(Window{middle, b}))
				if whole := series.CountersIn(Window{a, b}); parts != whole {
					t.Fatalf("adjoining windows hold %v, both together %v", parts, whole)
				}
			}
		}
	})
}

func TestMergeLateConservesEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		series := genSeries().Draw(t, "series")
		merged, err := NewSeries(series.Len(), MergeLate(slices.Values(samplesIn(series)), rapid.Int64Range(0, 2_000).Draw(t, "interval")))
		if err != nil {
			t.Fatal(err)
		}
		if merged.Total() != series.Total() {
			t.Fatalf("merged to %v from %v", merged.Total(), series.Total())
		}
		span, ok := merged.Span()
		if wantSpan, want := series.Span(); ok != want || span != wantSpan {
			t.Fatalf("span %v, %v, want %v, %v", span, ok, wantSpan, want)
		}
		// The counters are exact where a merged sample ends, except for I/O at that very instant: it may count before or
		// after the instant.
		for _, sample := range samplesIn(merged) {
			end := sample.EndNanoseconds
			if merged.CountersAt(end) != series.CountersAt(end) && !stepAt(series, end) {
				t.Fatalf("at %d: %v, want %v", end, merged.CountersAt(end), series.CountersAt(end))
			}
		}
	})
}

func stepAt(series *Series, instant int64) bool {
	for _, sample := range samplesIn(series) {
		if sample.StartNanoseconds == instant && instant == sample.EndNanoseconds {
			return true
		}
	}
	return false
}

func TestCommonWindowIsInsideOfEverySpan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spans := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) ClientSpan {
			start := rapid.Int64Range(-50, 50).Draw(t, "start")
			return ClientSpan{start, start + rapid.Int64Range(1, 100).Draw(t, "length")}
		}), 1, 6).Draw(t, "spans")
		window, ok := CommonWindow(spans)
		for instant := int64(-51); instant < 151; instant++ {
			running := true // during the nanosecond after instant
			for _, span := range spans {
				running = running && span.StartNanoseconds <= instant && instant < span.EndNanoseconds
			}
			inside := ok && window.StartNanoseconds <= instant && instant < window.EndNanoseconds
			if inside != running {
				t.Fatalf("at %d all run: %v, in the window %v (%v): %v", instant, running, window, ok, inside)
			}
		}
	})
}

// TestClockBoundsHold checks that translated instants are within the uncertainty, whatever the speed of the remote
// clock and however a round trip divides into its two ways.
func TestClockBoundsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		offset := rapid.Int64Range(-1<<40, 1<<40).Draw(t, "offset")
		ppm := rapid.Int64Range(-maxDriftPPM+10, maxDriftPPM-10).Draw(t, "ppm")
		remote := func(local int64) int64 { return local + offset + local/1_000_000*ppm }
		estimate := func(from, until int64, name string) ClockOffset {
			trip := rapid.Custom(func(t *rapid.T) RoundTrip {
				send := rapid.Int64Range(from, until).Draw(t, "send")
				there := rapid.Int64Range(0, 1<<30).Draw(t, "there")
				back := rapid.Int64Range(0, 1<<30).Draw(t, "back")
				return RoundTrip{send, remote(send + there), send + there + back}
			})
			estimate, err := EstimateClock(rapid.SliceOfN(trip, 1, 5).Draw(t, name))
			if err != nil {
				t.Fatal(err)
			}
			return estimate
		}
		const before, after = 1 << 40, 1 << 42
		first, last := estimate(0, before, "first"), estimate(after, after+before, "last")
		clock := CombineClocks(first, last)
		at := rapid.Int64Range(before+1<<31, after).Draw(t, "at")
		// Rounding loses a microsecond of the drift per part per million.
		if off := clock.ToLocal(remote(at)) - at; max(off, -off) > clock.UncertaintyNanoseconds+2000 {
			t.Fatalf("off by %d ns, and the uncertainty is %d ns: %+v", off, clock.UncertaintyNanoseconds, clock)
		}
	})
}

func samplesIn(series *Series) (all []Sample) {
	for i := range series.Len() {
		all = append(all, series.At(i))
	}
	return all
}
