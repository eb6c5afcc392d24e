package result_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/test/builders"
)

// someone is a client that may report anything.
func someone(random *rand.Rand, index int) result.Client {
	extremes := []uint64{0, 1, 1000, 1 << 20, 1 << 40, 1 << 62, math.MaxInt64, math.MaxUint64}
	number := func() uint64 { return extremes[random.IntN(len(extremes))] }
	client := builders.Client("data", index).Obj()
	at := builders.Start.UnixNano()
	for range random.IntN(12) {
		sample := measure.Sample{StartNanoseconds: at, EndNanoseconds: at + int64(random.IntN(3000))*int64(time.Millisecond), WarmUp: random.IntN(5) == 0}
		switch random.IntN(12) {
		case 0:
			sample.StartNanoseconds = int64(number())
		case 1:
			sample.EndNanoseconds = -int64(number())
		case 2:
			sample.StartNanoseconds -= int64(random.IntN(2000)) * int64(time.Millisecond)
		}
		at = sample.EndNanoseconds
		for operation := range sample.Counters {
			if random.IntN(3) == 0 {
				sample.Counters[operation] = measure.Counter{Bytes: number(), Operations: number()}
			}
		}
		client.Samples = append(client.Samples, sample)
	}
	for operation := range client.Operations {
		if random.IntN(2) == 0 {
			continue
		}
		total := &client.Operations[operation]
		total.Counter = measure.Counter{Bytes: number(), Operations: number()}
		total.Latency.AddNanoseconds(number(), number())
		total.SubmissionMeanNanoseconds = int64(number())
	}
	client.Ended, client.Stopped = random.IntN(6) > 0, random.IntN(6) == 0
	client.UnwrittenBytes, client.MemoryBytes = number(), number()
	client.ClockUncertainty = time.Duration(number())
	client.CPU = result.CPU{Busy: time.Duration(number()), Wall: time.Duration(number()), LimitMilli: int64(number()),
		Periods: number(), ThrottledPeriods: number(), Throttled: time.Duration(number())}
	client.Machine = []string{"", "one", "two"}[random.IntN(3)]
	client.Notices = []result.Notice{{Warning: string(v1alpha1.WarningTypes()[random.IntN(10)]), Message: "x"}, {Warning: "\x00"}}
	return client
}

// TestWhateverClientsReport gives a result without negative figures, within the API's bounds.
func TestWhateverClientsReport(t *testing.T) {
	for _, benchmark := range []*builders.BenchmarkBuilder{writing(), layingOut(), reading(builders.Fio().Buffered().Reads())} {
		step := stepOf(t, benchmark)
		for seed := range uint64(300) {
			random := rand.New(rand.NewPCG(seed, 1))
			var clients []result.Client
			for i := range random.IntN(6) {
				clients = append(clients, someone(random, i))
			}
			got := result.Target(step, "data", clients)
			for _, operation := range got.Operations {
				figures := []int64{operation.Bytes, operation.Operations}
				for _, rate := range []*int64{operation.BytesPerSecond, operation.IOPSMilli} {
					if rate != nil {
						figures = append(figures, *rate)
					}
				}
				if l := operation.Latency; l != nil {
					figures = append(figures, l.Samples, l.MeanNanoseconds, l.MinNanoseconds, l.MaxNanoseconds)
				}
				for _, figure := range figures {
					if figure < 0 {
						t.Fatalf("seed %d: %s has a negative figure: %+v", seed, operation.Operation, operation)
					}
				}
			}
			if got.WindowNanoseconds < 0 || got.MeasuredNanoseconds < 0 || got.TailNanoseconds != nil && *got.TailNanoseconds < 0 {
				t.Fatalf("seed %d: a time is negative: %+v", seed, got)
			}
			if int(got.Clients) > len(clients) || len(got.Warnings) > 32 {
				t.Fatalf("seed %d: %d clients of %d, %d warnings", seed, got.Clients, len(clients), len(got.Warnings))
			}
		}
	}
}
