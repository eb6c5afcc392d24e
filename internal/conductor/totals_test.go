package conductor_test

import (
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/conductor"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/measure"
)

// teller returns an agent that sends the given records and then waits.
func teller(records ...*agentapi.Record) *fake {
	for i, record := range records {
		record.Sequence = uint64(i + 1)
	}
	described := good()
	described.LastSequence = uint64(len(records))
	return &fake{describe: described, clock: time.Now().UnixNano(), watch: func(since uint64, send func(*agentapi.Record) error) error {
		for _, record := range records[since:] {
			if err := send(record); err != nil {
				return err
			}
		}
		return nil
	}}
}

func begins(step *agentapi.StepKey, at int64) *agentapi.Record {
	return &agentapi.Record{Step: step, Entry: &agentapi.Record_Started{Started: &agentapi.Started{ReleasedNanoseconds: at}}}
}

func writes(step *agentapi.StepKey, from, to int64, bytes uint64, warmUp bool) *agentapi.Record {
	return &agentapi.Record{Step: step, Entry: &agentapi.Record_Sample{Sample: &agentapi.Sample{StartNanoseconds: from, EndNanoseconds: to, WarmUp: warmUp,
		Counts: []*agentapi.OperationCount{{Operation: uint32(measure.Write), Bytes: bytes, Operations: bytes / 4096}}}}}
}

func takes(t *testing.T, step *agentapi.StepKey, from, to int64, latency time.Duration, count uint64) *agentapi.Record {
	t.Helper()
	var histogram measure.Histogram
	histogram.AddNanoseconds(uint64(latency), count)
	encoded, err := histogram.MarshalBinary()
	must(t, err)
	return &agentapi.Record{Step: step, Entry: &agentapi.Record_LatencyMinute{LatencyMinute: &agentapi.LatencyMinute{StartNanoseconds: from, EndNanoseconds: to,
		Histograms: []*agentapi.OperationHistogram{{Operation: uint32(measure.Write), Histogram: encoded}}}}}
}

const second = int64(time.Second)

// connected returns a conductor that has read the logs of the given agents.
func connected(t *testing.T, options conductor.Options, agents ...*fake) *conductor.Conductor {
	t.Helper()
	options.RunUID, options.Epoch, options.LossTimeout, options.Steps = runUID, 1, time.Minute, steps()
	made := conductor.New(options)
	t.Cleanup(made.Close)
	for index, one := range agents {
		one.describe.Client = int32(index)
		made.Connect(endpoint(t, index, serve(t, index, one)))
	}
	for index := range agents {
		await(t, made, index, "ready", is(decide.Ready))
	}
	return made
}

// TestTotals checks that totals are summed over steps, attempts and clients, including the warm-up, and that forgetting
// an attempt subtracts nothing. Seconds without samples count as lost, except at the end of a warm-up.
func TestTotals(t *testing.T) {
	base := time.Now().UnixNano()
	one, two := &agentapi.StepKey{Id: "1", Attempt: 1}, &agentapi.StepKey{Id: "2", Attempt: 1}
	again := &agentapi.StepKey{Id: "2", Attempt: 2}
	c := connected(t, conductor.Options{},
		teller(begins(one, base), writes(one, base, base+second, 4096, true), writes(one, base+2*second, base+3*second, 8192, false),
			writes(one, base+6*second, base+7*second, 8192, false), begins(two, base+8*second), writes(two, base+8*second, base+9*second, 4096, false)),
		teller(begins(again, base), writes(again, base, base+second, 40960, false)))
	check := func() {
		t.Helper()
		for step, want := range map[string]measure.Counter{"1": {Bytes: 20480, Operations: 5}, "2": {Bytes: 45056, Operations: 11}} {
			if got := c.Totals()[conductor.TotalOf{Step: step, Target: "target", Operation: measure.Write}]; got != want {
				t.Errorf("step %s: %+v, want %+v", step, got, want)
			}
		}
	}
	check()
	if got := c.Samples()["target"]; got != (conductor.SampleCount{Taken: 5, Lost: 3}) {
		t.Errorf("samples %+v, want 5 and 3 seconds lost", got)
	}
	for _, attempt := range []decide.Attempt{{Step: "1", Number: 1}, {Step: "2", Number: 1}, {Step: "2", Number: 2}} {
		c.Forget(attempt)
	}
	check()
}

// TestTotalsSince checks that samples before CountSince do not count towards the totals.
func TestTotalsSince(t *testing.T) {
	base := time.Now().UnixNano()
	step := &agentapi.StepKey{Id: "1", Attempt: 1}
	c := connected(t, conductor.Options{CountSince: time.Unix(0, base+5*second)},
		teller(begins(step, base), writes(step, base, base+second, 4096, false), writes(step, base+10*second, base+11*second, 8192, false)))
	if got := c.Totals()[conductor.TotalOf{Step: "1", Target: "target", Operation: measure.Write}]; got.Bytes != 8192 {
		t.Errorf("%+v, want what came after only", got)
	}
}

// TestDistributions checks that latencies are merged over clients and come from the newest step, in whatever order the
// logs are read. The second agent's log starts again with the old step after the first agent's log was read.
func TestDistributions(t *testing.T) {
	base := time.Now().UnixNano()
	old, live := &agentapi.StepKey{Id: "1", Attempt: 1}, &agentapi.StepKey{Id: "2", Attempt: 1}
	begin := base + 200*second
	tell := func(fast, slow time.Duration) *fake {
		return teller(begins(old, base), takes(t, old, base, base+5*second, time.Second, 7),
			begins(live, begin), takes(t, live, begin, begin+40*second, fast, 100), takes(t, live, begin+40*second, begin+60*second, fast, 100),
			takes(t, live, begin+60*second, begin+120*second, slow, 100))
	}
	c := connected(t, conductor.Options{}, tell(time.Millisecond, 9*time.Millisecond), tell(2*time.Millisecond, 10*time.Millisecond))
	got := c.Distributions()["target"]
	if want := (decide.Attempt{Step: "2", Number: 1}); got.Attempt != want {
		t.Fatalf("latencies of %v, want %v", got.Attempt, want)
	}
	if whole, newest := got.Whole[measure.Write].Count(), got.Newest[measure.Write].Count(); whole != 600 || newest != 200 {
		t.Errorf("%d latencies in all, %d in the newest minute, want 600 and 200", whole, newest)
	}
	if p50, _ := got.Newest[measure.Write].Percentile(50); p50 < 8_900_000 || p50 > 9_200_000 {
		t.Errorf("the median of the newest minute is %d ns, want about 9 ms", p50)
	}
}

// TestRecordedIsNotKeptAgain checks that a conductor keeps only the totals of attempts that another conductor has
// recorded, and also the progress of attempts that have not ended.
func TestRecordedIsNotKeptAgain(t *testing.T) {
	base := time.Now().UnixNano()
	old, again, live := &agentapi.StepKey{Id: "1", Attempt: 1}, &agentapi.StepKey{Id: "2", Attempt: 1}, &agentapi.StepKey{Id: "2", Attempt: 2}
	end := func(step *agentapi.StepKey) *agentapi.Record {
		record := ended(nil)
		record.Step = step
		return record
	}
	c := connected(t, conductor.Options{Records: map[string]decide.Record{"1": {Attempt: 1, Done: true}, "2": {Attempt: 2}}},
		teller(begins(old, base), writes(old, base, base+second, 4096, false), takes(t, old, base, base+second, time.Second, 7), end(old),
			begins(again, base), writes(again, base+second, base+2*second, 4096, false),
			begins(live, base+2*second), writes(live, base+2*second, base+3*second, 8192, false)))
	for step, want := range map[*agentapi.StepKey]struct {
		progress decide.Progress
		samples  int
	}{old: {"", 0}, again: {decide.Running, 0}, live: {decide.Running, 1}} {
		attempt := decide.Attempt{Step: step.GetId(), Number: int(step.GetAttempt())}
		if got := c.Clients()[0].Attempts[attempt].Progress; got != want.progress {
			t.Errorf("%v is %s, want %s", attempt, got, want.progress)
		}
		samples := 0
		for _, got := range c.Results(attempt) {
			samples += len(samplesOf(got))
		}
		if samples != want.samples || len(c.Latencies(attempt)) > 0 {
			t.Errorf("%v: %d samples, want %d", attempt, samples, want.samples)
		}
	}
	for step, want := range map[string]uint64{"1": 4096, "2": 12288} {
		if got := c.Totals()[conductor.TotalOf{Step: step, Target: "target", Operation: measure.Write}]; got.Bytes != want {
			t.Errorf("step %s: %d bytes in all, want %d", step, got.Bytes, want)
		}
	}
	if got := c.Distributions()["target"]; got.Whole[measure.Write].Count() != 7 {
		t.Errorf("%d latencies of the newest step with any", got.Whole[measure.Write].Count())
	}
}
