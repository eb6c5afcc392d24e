package series_test

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/series"
)

// logOf returns the log of a run with some steps on two targets. It has gaps, all states, minutes and distributions.
func logOf(steps, points int) *series.Log {
	random := rand.New(rand.NewPCG(1, 2))
	made := &series.Log{}
	at := int64(1_764_000_000_000_000_000)
	for s := range steps {
		step := series.Step{ID: "step-" + string(rune('a'+s)), Attempt: 1}
		for _, name := range []string{"one", "two"} {
			target := series.Target{Name: name, Clients: []series.ClientRate{{Client: 0, BytesPerSecond: 5}, {Client: 1, BytesPerSecond: 7}}}
			start := at
			for i := range points {
				if i%100 == 50 {
					start += 3_000_000_000
				}
				end := start + 1_000_000_000 + int64(random.IntN(5000))*1000
				point := series.Point{StartNanoseconds: start, EndNanoseconds: end}
				if i < 3 {
					point.State = series.WarmUp
				}
				if i == points-1 {
					point.State = series.Transition
				}
				point.Counters[measure.Write] = measure.Counter{Bytes: random.Uint64N(1 << 32), Operations: random.Uint64N(1 << 20)}
				target.Points = append(target.Points, point)
				start = end
			}
			var histogram measure.Histogram
			for range 5000 {
				histogram.AddNanoseconds(1000+random.Uint64N(1_000_000), 1)
			}
			target.Minutes = []series.Minute{series.MinuteOf(at, start, measure.Write, &histogram)}
			target.Latency = []series.Distribution{series.DistributionOf(measure.Write, &histogram)}
			step.Targets = append(step.Targets, target)
		}
		made.Add(step)
		at += 3600 * 1_000_000_000
	}
	return made
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	want := logOf(3, 200)
	const years74 = int64(74 * 365 * 24 * time.Hour)
	of := &want.Steps[2].Targets[1]
	for i := range of.Points {
		of.Points[i].StartNanoseconds += years74
		of.Points[i].EndNanoseconds += years74
	}
	of.Minutes[0].StartNanoseconds += years74
	of.Minutes[0].EndNanoseconds += years74
	text, err := want.Encode(0)
	if err != nil {
		t.Fatal(err)
	}
	got, err := series.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v", got.Steps[0].Targets[0].Points[:5])
	}
}

// TestImpossibleSeries checks that Decode refuses series that no run can produce.
func TestImpossibleSeries(t *testing.T) {
	for name, change := range map[string]func(*series.Target){
		"a client before the first": func(of *series.Target) { of.Clients[0].Client = -1 },
		"a client too many":         func(of *series.Target) { of.Clients[0].Client = 1 << 40 },
		"a rate below zero":         func(of *series.Target) { of.Clients[1].BytesPerSecond = -1 },
		"p99 below p50":             func(of *series.Target) { of.Minutes[0].P99 = of.Minutes[0].P50 - 1 },
		"a minute of ten days":      func(of *series.Target) { of.Minutes[0].EndNanoseconds += int64(240 * time.Hour) },
		"a minute of a century": func(of *series.Target) {
			of.Minutes[0].StartNanoseconds, of.Minutes[0].EndNanoseconds = -measure.MaxInstant, measure.MaxInstant
		},
		"a point of no time": func(of *series.Target) { of.Points[0].StartNanoseconds = -measure.MaxInstant - 1 },
	} {
		log := logOf(1, 5)
		change(&log.Steps[0].Targets[0])
		text, err := log.Encode(0)
		if err != nil {
			t.Fatal(err)
		}
		if read, err := series.Decode(text); err == nil {
			t.Errorf("%s: it was read, with %d steps", name, len(read.Steps))
		}
	}
}

func sumOf(log *series.Log) (bytes, operations uint64, points int) {
	for _, step := range log.Steps {
		for _, target := range step.Targets {
			points += len(target.Points)
			for _, point := range target.Points {
				bytes += point.Counters[measure.Write].Bytes
				operations += point.Counters[measure.Write].Operations
			}
		}
	}
	return bytes, operations, points
}

// TestTwelveHoursFit checks that twelve hours of two targets, with a point per second and noise in every digit, fit
// into a ConfigMap. Up to four points may be joined into one, but no byte may be lost.
func TestTwelveHoursFit(t *testing.T) {
	log := logOf(1, 43_200)
	text, err := log.Encode(series.MaxBytes)
	if err != nil {
		t.Fatal(err)
	}
	read, err := series.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	bytes, operations, points := sumOf(log)
	readBytes, readOperations, readPoints := sumOf(read)
	t.Logf("%d points in %d bytes", readPoints, len(text))
	if len(text) > series.MaxBytes || readBytes != bytes || readOperations != operations || readPoints < points/4 || log.Coarsened || read.Coarsened != (readPoints < points) {
		t.Errorf("%d bytes; %d of %d points; %d of %d bytes; coarsened %v", len(text), readPoints, points, readBytes, bytes, read.Coarsened)
	}
}

// TestAnythingFits checks that many steps and targets fit into a small limit, however many points are lost.
func TestAnythingFits(t *testing.T) {
	log := logOf(20, 300)
	for _, limit := range []int{200_000, 20_000, 2_000} {
		text, err := log.Encode(limit)
		if err != nil || len(text) > limit {
			t.Fatalf("%d: %d bytes, %v", limit, len(text), err)
		}
		if _, err := series.Decode(text); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := log.Encode(10); err == nil {
		t.Error("20 steps fit into 10 bytes")
	}
}

func TestANewAttemptTakesThePlace(t *testing.T) {
	log := &series.Log{}
	log.Add(series.Step{ID: "a", Attempt: 1})
	log.Add(series.Step{ID: "b", Attempt: 1})
	log.Add(series.Step{ID: "a", Attempt: 2})
	if len(log.Steps) != 2 || log.Step("a").Attempt != 2 || log.Step("c") != nil {
		t.Errorf("%+v", log)
	}
	var none *series.Log
	none.Add(series.Step{ID: "a"})
	if !none.Empty() || none.Step("a").Target("x") != nil {
		t.Error("a nil log is not empty")
	}
}

// TestMinutesWithFewSamples checks that a minute has no percentile with fewer than ten samples above it.
func TestMinutesWithFewSamples(t *testing.T) {
	var histogram measure.Histogram
	histogram.AddNanoseconds(1000, 500)
	minute := series.MinuteOf(0, 1, measure.Read, &histogram)
	if minute.P50 == 0 || minute.P95 == 0 || minute.P99 != 0 || minute.P999 != 0 {
		t.Errorf("%+v", minute)
	}
}

// TestBins checks that the bins of a distribution are contiguous and keep all counts.
func TestBins(t *testing.T) {
	var histogram measure.Histogram
	for nanoseconds := uint64(0); nanoseconds < 40_000_000_000; nanoseconds += 1 + nanoseconds/50 {
		histogram.AddNanoseconds(nanoseconds, 1)
	}
	made := series.DistributionOf(measure.Read, &histogram)
	count := uint64(0)
	for i, bin := range made.Bins {
		count += bin.Count
		last := i == len(made.Bins)-1
		if (bin.HighNanoseconds == 0) != last || !last && bin.HighNanoseconds != made.Bins[i+1].LowNanoseconds {
			t.Errorf("bin %d: %+v", i, bin)
		}
	}
	if count != histogram.Count() {
		t.Errorf("%d of %d", count, histogram.Count())
	}
}

func FuzzDecode(f *testing.F) {
	text, err := logOf(1, 5).Encode(0)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		log, err := series.Decode(text)
		if err != nil {
			return
		}
		for _, step := range log.Steps {
			for _, target := range step.Targets {
				for i, point := range target.Points {
					if point.EndNanoseconds < point.StartNanoseconds || i > 0 && point.StartNanoseconds < target.Points[i-1].EndNanoseconds {
						t.Errorf("point %d: %+v", i, point)
					}
				}
				for i, m := range target.Minutes {
					if length := m.EndNanoseconds - m.StartNanoseconds; length < 0 || length > int64(series.MaxDuration) || m.P999 > 0 && m.P999 < m.P50 {
						t.Errorf("minute %d: %+v", i, m)
					}
				}
				for i, one := range target.Clients {
					if one.Client < 0 || one.BytesPerSecond < 0 {
						t.Errorf("client %d: %+v", i, one)
					}
				}
			}
		}
	})
}
