package conductor

import (
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/measure"
)

func minute(t *testing.T, start, end time.Duration, operation measure.Operation, nanoseconds, count uint64) *agentapi.LatencyMinute {
	t.Helper()
	var histogram measure.Histogram
	histogram.AddNanoseconds(nanoseconds, count)
	encoded, err := histogram.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return &agentapi.LatencyMinute{StartNanoseconds: int64(start), EndNanoseconds: int64(end),
		Histograms: []*agentapi.OperationHistogram{{Operation: uint32(operation), Histogram: encoded}}}
}

// addMinute decodes and adds a record, as a client does.
func addMinute(l *latencies, key latencyKey, budget *Budget, released int64, from *agentapi.LatencyMinute) error {
	record, err := decodeLatencies(released, measure.ClockOffset{}, from)
	if err != nil {
		return err
	}
	return l.add(key, budget, record)
}

// TestLatenciesAreAddedUp checks that latency records are summed over clients, by the minute of the step that contains
// the record's middle, and that percentiles are computed from the sums.
func TestLatenciesAreAddedUp(t *testing.T) {
	c := New(Options{})
	defer c.Close()
	attempt := decide.Attempt{Step: "00-write", Number: 1}
	key := latencyKey{attempt: attempt, target: "data"}
	const released = int64(time.Hour)
	clock := measure.ClockOffset{}
	for _, one := range []*agentapi.LatencyMinute{
		minute(t, time.Hour, time.Hour+20*time.Second, measure.Write, 1000, 100),
		minute(t, time.Hour+20*time.Second, time.Hour+61*time.Second, measure.Write, 1000, 400),
		minute(t, time.Hour+time.Second, time.Hour+62*time.Second, measure.Write, 5000, 1500), // of another client
		minute(t, time.Hour+61*time.Second, time.Hour+121*time.Second, measure.Write, 9000, 50),
	} {
		if err := addMinute(&c.latencies, key, c.budget, released, one); err != nil {
			t.Fatal(err)
		}
	}
	got := c.Latencies(attempt)["data"]
	if len(got) != 2 || got[0].Samples != 2000 || got[1].Samples != 50 || got[0].Operation != measure.Write {
		t.Fatalf("%+v", got)
	}
	if got[0].StartNanoseconds != clock.ToLocal(int64(time.Hour)) || got[0].EndNanoseconds != clock.ToLocal(int64(time.Hour+62*time.Second)) {
		t.Errorf("the first minute is from %d to %d", got[0].StartNanoseconds, got[0].EndNanoseconds)
	}
	if got[0].P50 < 4900 || got[0].P50 > 5100 || got[1].P95 != 0 {
		t.Errorf("%+v", got)
	}
	c.Forget(attempt)
	if left := c.Latencies(attempt); len(left) > 0 || c.budget.Used() != 0 {
		t.Errorf("after it was forgotten: %v, %d bytes", left, c.budget.Used())
	}
}

// TestLatenciesThatCannotBe checks that implausible latency records are rejected.
func TestLatenciesThatCannotBe(t *testing.T) {
	var l latencies
	key := latencyKey{target: "data"}
	bad := minute(t, 0, time.Minute, measure.Write, 1, 1)
	bad.Histograms[0].Histogram = []byte("no histogram")
	foreign := minute(t, 0, time.Minute, measure.Write, 1, 1)
	foreign.Histograms[0].Operation = 99
	twice := minute(t, 0, time.Minute, measure.Write, 1, 1)
	twice.Histograms = append(twice.Histograms, twice.Histograms[0])
	for name, one := range map[string]*agentapi.LatencyMinute{
		"backwards":   minute(t, time.Minute, 0, measure.Write, 1, 1),
		"years later": minute(t, 20*365*24*time.Hour, 20*365*24*time.Hour+1, measure.Write, 1, 1),
		"years long":  minute(t, -10*365*24*time.Hour, 10*365*24*time.Hour+time.Minute, measure.Write, 1, 1),
		"nonsense":    bad, "unknown": foreign, "twice": twice,
	} {
		if err := addMinute(&l, key, NewBudget(1<<20), 1, one); err == nil {
			t.Errorf("%s is believed", name)
		}
	}
}
