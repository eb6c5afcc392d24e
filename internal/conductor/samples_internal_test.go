package conductor

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/storagebench/storagebench/internal/measure"
)

// TestSamplesKept checks that packed samples are returned unchanged from any index on, and that their size is counted
// correctly.
func TestSamplesKept(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) // #nosec G404 -- test data
	var kept samples
	var want []measure.Sample
	bytes, clock := 0, int64(-maxInstant)
	for i := range 3000 {
		sample := measure.Sample{StartNanoseconds: clock, EndNanoseconds: clock + random.Int64N(2e9), WarmUp: i < 10}
		for range random.IntN(measure.NumOperations + 1) {
			sample.Counters[random.IntN(measure.NumOperations)] = measure.Counter{
				Bytes: random.Uint64() >> random.IntN(64), Operations: random.Uint64() >> random.IntN(64)}
		}
		clock = sample.EndNanoseconds - random.Int64N(1000)
		want = append(want, sample)
		bytes += kept.add(&sample)
	}
	last := measure.Sample{StartNanoseconds: -maxInstant, EndNanoseconds: maxInstant}
	last.Counters[measure.Delete] = measure.Counter{Bytes: math.MaxUint64, Operations: math.MaxUint64}
	want = append(want, last)
	bytes += kept.add(&last)
	if kept.count != len(want) || kept.began != want[0].StartNanoseconds {
		t.Errorf("%d samples from %d, want %d from %d", kept.count, kept.began, len(want), want[0].StartNanoseconds)
	}
	for _, index := range []int{0, 1, 77, 1500, len(want) - 1, len(want), len(want) + 1} {
		if got := slices.Collect(kept.from(index)); !slices.Equal(got, want[min(index, len(want)):]) {
			t.Errorf("from %d: %d samples differ from the %d that were added", index, len(got), len(want)-index)
		}
	}
	held := cap(kept.chunks) * int(unsafe.Sizeof(sampleChunk{}))
	for _, chunk := range kept.chunks {
		held += cap(chunk.data)
	}
	if bytes != held {
		t.Errorf("%d bytes were counted, %d are held", bytes, held)
	}
}

// TestSampleBytes checks that a typical sample of one second takes few bytes.
func TestSampleBytes(t *testing.T) {
	var kept samples
	bytes := 0
	const count = 10_000
	for i := range int64(count) {
		sample := measure.Sample{StartNanoseconds: 1e15 + i*1e9 + 12_345, EndNanoseconds: 1e15 + (i+1)*1e9 + 12_345}
		sample.Counters[measure.Read] = measure.Counter{Bytes: 80_000_000, Operations: 5000}
		sample.Counters[measure.Write] = measure.Counter{Bytes: 80_000_000, Operations: 5000}
		bytes += kept.add(&sample)
	}
	if each := bytes / count; each > 30 {
		t.Errorf("a sample takes %d bytes", each)
	}
}
