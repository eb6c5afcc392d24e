package agent

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/test/stillness"
)

func TestStepRunsToItsEnd(t *testing.T) {
	t.Parallel()
	r, still := serve(t, nil), stillness.During(t)
	load := request("write", slowWrite(2))
	load.GetFio().DurationNanoseconds = int64(2 * time.Second)
	before := r.agent.clock.Monotonic()
	ended, records := r.run(load, 20*time.Second)
	after := r.agent.clock.Monotonic()
	if ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
		t.Fatalf("got %v", ended)
	}
	if records[0].GetStarted() == nil {
		t.Errorf("the first record is %v", records[0])
	}
	last, count := records[0].GetStarted().GetReleasedNanoseconds(), 0
	if last < before {
		t.Errorf("released at %d, before its order at %d", last, before)
	}
	for _, record := range records {
		sample := record.GetSample()
		if sample == nil {
			continue
		}
		count++
		if sample.GetStartNanoseconds() < last || sample.GetEndNanoseconds() <= sample.GetStartNanoseconds() || sample.GetEndNanoseconds() > after {
			t.Errorf("sample %v does not lie between %d and %d", sample, last, after)
		}
		last = sample.GetEndNanoseconds()
	}
	if count < 5-still.Times(200*time.Millisecond) {
		t.Errorf("%d samples in 2 s, want one every 200 ms; the machine stood still for %s", count, still.Total())
	}
	bytes, operations := sums(ended.GetOperations())
	if got, gotCount := sampled(records); got != bytes || gotCount != operations || bytes != 4096*operations {
		t.Errorf("samples add up to %d bytes in %d operations, fio says %d in %d", got, gotCount, bytes, operations)
	}
	wroteTwoSeconds(t, still, ended)
	var latency measure.Latency
	must(t, latency.UnmarshalBinary(ended.GetOperations()[0].GetLatency()))
	if latency.Count != operations || latency.Histogram.Count() != operations {
		t.Errorf("%d latencies of %d operations", latency.Count, operations)
	}
	if cpu := ended.GetCpu(); cpu.GetWallNanoseconds() < 2e9 || cpu.GetLimitMilli() <= 0 {
		t.Errorf("CPU %v", cpu)
	}
}

func TestStepsFollowEachOtherAtOnce(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	job := strings.Replace(slowWrite(1), "rate=2m\ntime_based=1\nruntime=1\n", "", 1)
	for i := range 4 {
		// Whoever reads of an end may load the next step: it is not refused for the last one.
		if ended, _ := r.run(request(string(rune('a'+i)), job), 20*time.Second); ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
			t.Fatalf("step %d: %v", i, ended)
		}
	}
}

func TestLoadIsIdempotent(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	load := request("a", slowWrite(1))
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if answer, err := r.Load(t.Context(), load); err != nil || answer.GetStatus().GetState() != agentapi.StepState_STEP_STATE_LOADED {
				t.Errorf("got %v, %v", answer, err)
			}
		})
	}
	all.Wait()
	pid := r.tool().handle.PID()
	r.load(load)
	if again := r.tool().handle.PID(); again != pid {
		t.Errorf("fio %d was spawned beside %d", again, pid)
	}
	other := request("a", slowWrite(2))
	if _, err := r.Load(t.Context(), other); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "another content") {
		t.Errorf("another content: %v", err)
	}
	if _, err := r.Load(t.Context(), request("b", slowWrite(1))); status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "step a#1 is still live") {
		t.Errorf("a second step: %v", err)
	}
	r.start("a", 10*time.Second)
	r.start("a", time.Millisecond) // Too late to matter.
	if ended, _ := r.finished("a"); ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
		t.Errorf("got %v", ended)
	}
	answer, err := r.Load(t.Context(), load)
	if err != nil || answer.GetStatus().GetState() != agentapi.StepState_STEP_STATE_ENDED {
		t.Errorf("loading what has ended: %v, %v", answer, err)
	}
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	now := r.agent.clock.Monotonic()
	_, err := r.Start(t.Context(), &agentapi.StartRequest{Epoch: 1, Step: key("a"), AtNanoseconds: now, DeadlineNanoseconds: now + 1})
	if status.Code(err) != codes.NotFound {
		t.Errorf("an unknown step: %v", err)
	}
	r.load(request("a", slowWrite(1)))
	_, err = r.Start(t.Context(), &agentapi.StartRequest{Epoch: 1, Step: key("a"), AtNanoseconds: now, DeadlineNanoseconds: now})
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("no time: %v", err)
	}
	// An order that was long on its way does nothing any more.
	_, err = r.Start(t.Context(), &agentapi.StartRequest{Epoch: 1, Step: key("a"), AtNanoseconds: now - 2e9, DeadlineNanoseconds: now - 1e9})
	must(t, err)
	if ended, records := r.finished("a"); ended.GetReason() != "DeadlineExceeded" || len(records) != 1 {
		t.Errorf("got %v after %v", ended, records)
	}
	if _, err := os.Stat(filepath.Join(r.directory, dataPath, "data.0.0")); err == nil {
		t.Error("it wrote all the same")
	}
}

func TestStopAndDeadline(t *testing.T) {
	t.Parallel()
	workBound := strings.Replace(slowWrite(0), "time_based=1\nruntime=0\n", "size=64m\n", 1)
	tests := map[string]struct {
		job      string
		duration time.Duration
		warmUp   time.Duration
		limit    time.Duration
		stopIn   time.Duration
		want     agentapi.Outcome
		reason   string
		minBytes uint64
	}{
		"stopped":               {job: slowWrite(20), duration: 20 * time.Second, stopIn: 4 * time.Second, want: agentapi.Outcome_OUTCOME_STOPPED, reason: "Stopped", minBytes: 1 << 20},
		"at its deadline":       {job: slowWrite(20), duration: 20 * time.Second, limit: 5 * time.Second, want: agentapi.Outcome_OUTCOME_STOPPED, reason: "Stopped", minBytes: 1 << 20},
		"half a layout":         {job: workBound, limit: 5 * time.Second, want: agentapi.Outcome_OUTCOME_FAILED, reason: "DeadlineExceeded", minBytes: 1 << 20},
		"in its warm-up":        {job: strings.Replace(slowWrite(20), "[job]", "ramp_time=20\n[job]", 1), duration: 20 * time.Second, warmUp: 20 * time.Second, stopIn: 1500 * time.Millisecond, want: agentapi.Outcome_OUTCOME_STOPPED, reason: "Stopped"},
		"while it reads":        {job: slowWrite(20), duration: 20 * time.Second, stopIn: time.Millisecond, want: agentapi.Outcome_OUTCOME_STOPPED, reason: "Stopped"},
		"while it starts":       {job: slowWrite(20), duration: 20 * time.Second, stopIn: 150 * time.Millisecond, want: agentapi.Outcome_OUTCOME_STOPPED, reason: "Stopped"},
		"while its jobs start":  {job: slowWrite(20), duration: 20 * time.Second, stopIn: 260 * time.Millisecond, want: agentapi.Outcome_OUTCOME_STOPPED, reason: "Stopped"},
		"before it was started": {job: slowWrite(20), want: agentapi.Outcome_OUTCOME_STOPPED, reason: "Stopped", stopIn: -1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := serve(t, nil)
			load := request("a", test.job)
			load.GetFio().DurationNanoseconds, load.GetFio().WarmUpNanoseconds = int64(test.duration), int64(test.warmUp)
			r.load(load)
			began := time.Now()
			if test.stopIn >= 0 {
				r.start("a", cmp.Or(test.limit, time.Minute))
			}
			if test.stopIn != 0 {
				time.Sleep(test.stopIn)
				_, err := r.Stop(t.Context(), &agentapi.StopRequest{Epoch: 1, Step: key("a"), Reason: "the test says so"})
				must(t, err)
			}
			ended, records := r.finished("a")
			if ended.GetOutcome() != test.want || ended.GetReason() != test.reason {
				t.Errorf("got %v", ended)
			}
			if test.stopIn != 0 && !strings.Contains(ended.GetMessage(), "the test says so") {
				t.Errorf("its message is %q", ended.GetMessage())
			}
			bytes, _ := sums(ended.GetOperations())
			// It writes 2 MiB a second until it is stopped, of which those of a warm-up do not count.
			took := time.Since(began)
			most := uint64(1<<20 + took.Seconds()*(2<<20))
			if test.warmUp > 0 {
				most = 1 << 20
			}
			if bytes < test.minBytes || test.minBytes == 0 && test.duration > 0 && (bytes > most || took > test.duration) {
				t.Errorf("%d bytes count, after %s", bytes, took)
			}
			if got, _ := sampled(records); test.warmUp == 0 && got != bytes {
				t.Errorf("samples add up to %d bytes, fio says %d", got, bytes)
			}
			r.start("a", time.Minute) // A late order starts nothing again.
			r.agent.mu.Lock()
			defer r.agent.mu.Unlock()
			if r.agent.live != nil {
				t.Error("a step is live after its end")
			}
		})
	}
}

// An order that comes long after its instant is not carried out: the other clients have begun.
func TestMissedStart(t *testing.T) {
	t.Parallel()
	r := serve(t, func(a *Agent) { a.patient.late = usualPatience.late })
	r.load(request("a", slowWrite(5)))
	clock, err := r.Clock(t.Context(), &agentapi.ClockRequest{})
	must(t, err)
	now := clock.GetMonotonicNanoseconds()
	_, err = r.Start(t.Context(), &agentapi.StartRequest{Epoch: 1, Step: &agentapi.StepKey{Id: "a", Attempt: 1},
		AtNanoseconds: now - int64(time.Second), DeadlineNanoseconds: now + int64(time.Minute)})
	must(t, err)
	ended, _ := r.finished("a")
	if ended.GetOutcome() != agentapi.Outcome_OUTCOME_FAILED || ended.GetReason() != agentapi.ReasonStartMissed ||
		len(ended.GetOperations()) > 0 || !strings.Contains(ended.GetMessage(), "after the instant of the start") {
		t.Errorf("ended %v", ended)
	}
}
