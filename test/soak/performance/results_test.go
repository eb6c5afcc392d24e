package performance_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/detect"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/test/soak"
)

func TestMain(m *testing.M) { soak.Main(m) }

// TestMerge measures the time to merge the histograms of a run of the largest size.
func TestMerge(t *testing.T) {
	const clients = 1000
	all := make([]measure.Histogram, clients)
	for i := range all {
		random := rand.New(rand.NewPCG(uint64(i), 1)) // #nosec G404 -- latencies of a test
		for range 2_000 {
			all[i].AddNanoseconds(10_000<<random.UintN(10)+random.Uint64N(10_000), 1+random.Uint64N(1_000))
		}
	}
	var p99 uint64
	took := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			var sum measure.Histogram
			for i := range all {
				sum.Merge(&all[i])
			}
			p99, _ = sum.Percentile(99)
		}
	})
	if p99 == 0 {
		t.Error("the merged histogram has no 99th percentile")
	}
	soak.Compare(t, "merging the histograms of 1000 clients", soak.Row{Ours: perRun(took)})
}

// TestAnalysis measures the time to analyze a drain of twelve hours.
func TestAnalysis(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1)) // #nosec G404 -- rates of a test
	var samples []detect.Sample
	for i := range 12 * 3600 {
		rate := 287e6
		if i >= 8*3600 {
			rate = 32e6
		}
		samples = append(samples, detect.Sample{StartSeconds: float64(i), EndSeconds: float64(i + 1), Rate: rate * (1 + 0.03*random.NormFloat64())})
	}
	var found detect.Result
	took := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			var err error
			if found, err = detect.Analyze(samples, detect.Options{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	if len(found.Drops) != 1 {
		t.Errorf("the analysis has %d drops", len(found.Drops))
	}
	soak.Compare(t, "analysis of a drain of 12 hours, a sample per second", soak.Row{Ours: perRun(took)})
}

func perRun(took testing.BenchmarkResult) string {
	each := time.Duration(took.NsPerOp())
	return fmt.Sprint(each.Round(max(each/1000, 1)))
}
