package measure

import (
	"math/rand/v2"
	"testing"
)

// spreadHistogram returns a histogram as of a busy client, with hundreds of bins over ten octaves.
func spreadHistogram(seed uint64) Histogram {
	random := rand.New(rand.NewPCG(seed, 1)) // #nosec G404 -- a benchmark
	var h Histogram
	for range 2_000 {
		h.AddNanoseconds(10_000<<random.UintN(10)+random.Uint64N(10_000), 1+random.Uint64N(1_000))
	}
	return h
}

func BenchmarkMerge1000Clients(b *testing.B) {
	clients := make([]Histogram, 1_000)
	for i := range clients {
		clients[i] = spreadHistogram(uint64(i))
	}
	b.ReportAllocs()
	for b.Loop() {
		var sum Histogram
		for i := range clients {
			sum.Merge(&clients[i])
		}
	}
}

func BenchmarkPercentile(b *testing.B) {
	h := spreadHistogram(1)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := h.Percentile(99.9); !ok {
			b.Fatal("no percentile")
		}
	}
}

func BenchmarkAppendBinary(b *testing.B) {
	h := spreadHistogram(1)
	buffer, err := h.AppendBinary(nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ReportMetric(float64(len(buffer)), "bytes")
	for b.Loop() {
		if buffer, err = h.AppendBinary(buffer[:0]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUnmarshalJSON(b *testing.B) {
	h := spreadHistogram(1)
	text, err := h.MarshalJSON()
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		var back Histogram
		if err := back.UnmarshalJSON(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSum100ClientsOneHour(b *testing.B) {
	clients := make([]*Series, 100)
	for i := range clients {
		clients[i] = &Series{}
		for at := range int64(3_600) {
			offset := int64(i) * 7_000_000
			if err := clients[i].Append(reads(at*second+offset, (at+1)*second+offset, 100_000_000)); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := SumOver(Window{0, 3_601 * second}, second, clients...); err != nil {
			b.Fatal(err)
		}
	}
}
