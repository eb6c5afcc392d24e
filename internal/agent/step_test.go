package agent

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"weak"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agent/agenttest"
	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/measure"
)

func TestStepRunsToItsEnd(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	load := request("write", slowWrite(1))
	load.GetFio().DurationNanoseconds = int64(time.Second)
	before := r.agent.env.Clock.Monotonic()
	ended, records := r.run(load, noLimit)
	after := r.agent.env.Clock.Monotonic()
	// fio would have another outcome if it had not written for the full second.
	if ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
		t.Fatalf("got %v", ended)
	}
	if records[0].GetStarted() == nil {
		t.Errorf("the first record is %v", records[0])
	}
	last := records[0].GetStarted().GetReleasedNanoseconds()
	if last < before {
		t.Errorf("released at %d, before its order at %d", last, before)
	}
	for _, record := range records {
		sample := record.GetSample()
		if sample == nil {
			continue
		}
		if sample.GetStartNanoseconds() < last || sample.GetEndNanoseconds() <= sample.GetStartNanoseconds() || sample.GetEndNanoseconds() > after {
			t.Errorf("sample %v does not lie between %d and %d", sample, last, after)
		}
		last = sample.GetEndNanoseconds()
	}
	bytes, operations := sums(ended.GetOperations())
	if got, gotCount := sampled(records); got == 0 || got != bytes || gotCount != operations || bytes != 4096*operations {
		t.Errorf("samples add up to %d bytes in %d operations, fio says %d in %d", got, gotCount, bytes, operations)
	}
	var latency measure.Latency
	must(t, latency.UnmarshalBinary(ended.GetOperations()[0].GetLatency()))
	if latency.Count != operations || latency.Histogram.Count() != operations {
		t.Errorf("%d latencies of %d operations", latency.Count, operations)
	}
	if cpu := ended.GetCpu(); cpu.GetWallNanoseconds() < 1e9 || cpu.GetLimitMilli() <= 0 {
		t.Errorf("CPU %v", cpu)
	}
}

func TestStepsFollowEachOtherAtOnce(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	for i := range 4 {
		// A conductor may load the next step as soon as it has read the end record.
		if ended, _ := r.run(request(string(rune('a'+i)), quickWrite), noLimit); ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
			t.Fatalf("step %d: %v", i, ended)
		}
	}
}

func TestLoadIsIdempotent(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	load := request("a", quickWrite)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if answer, err := r.Load(t.Context(), load); err != nil || answer.GetStatus().GetState() != agentapi.StepState_STEP_STATE_LOADED {
				t.Errorf("got %v, %v", answer, err)
			}
		})
	}
	all.Wait()
	pid := r.tool().PID()
	r.load(load)
	if again := r.tool().PID(); again != pid {
		t.Errorf("fio %d was spawned beside %d", again, pid)
	}
	other := request("a", endlessWrite)
	if _, err := r.Load(t.Context(), other); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "different content") {
		t.Errorf("another content: %v", err)
	}
	if _, err := r.Load(t.Context(), request("b", endlessWrite)); status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "step a#1 is still live") {
		t.Errorf("a second step: %v", err)
	}
	r.start("a", noLimit)
	r.start("a", time.Millisecond) // Too late, but the step is already started.
	if ended, _ := r.finished("a"); ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
		t.Errorf("got %v", ended)
	}
	answer, err := r.Load(t.Context(), load)
	if err != nil || answer.GetStatus().GetState() != agentapi.StepState_STEP_STATE_ENDED {
		t.Errorf("loading what has ended: %v, %v", answer, err)
	}
}

// TestLoadOfANewerVersion checks that a loaded step stays unchanged if an operator of another version takes over and
// requests it with different content. Each epoch may use one content only.
func TestLoadOfANewerVersion(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	r.load(request("a", quickWrite))
	pid := r.tool().PID()
	asks := func(job string) error {
		again := request("a", job)
		again.Epoch = 2
		_, err := r.Load(t.Context(), again)
		return err
	}
	must(t, asks(endlessWrite))
	must(t, asks(endlessWrite))
	if again := r.tool().PID(); again != pid {
		t.Errorf("fio %d was spawned beside %d", again, pid)
	}
	if err := asks(quickWrite); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "different content") {
		t.Errorf("another content of the same leader: %v", err)
	}
}

// forgotten is a tool whose loads end at once. It keeps only weak pointers to its latest load and request.
type forgotten struct {
	load    weak.Pointer[endsAtOnce]
	request weak.Pointer[agentapi.LoadRequest]
}

func (f *forgotten) Describe(context.Context) []*agentapi.Tool { return nil }

func (f *forgotten) Load(step *tool.Step) (tool.Load, error) {
	load := &endsAtOnce{step: step}
	f.load, f.request = weak.Make(load), weak.Make(step.Request)
	return load, nil
}

type endsAtOnce struct{ step *tool.Step }

func (e *endsAtOnce) Discard() {}

func (e *endsAtOnce) Run(int64) *agentapi.Ended {
	return &agentapi.Ended{Outcome: agentapi.Outcome_OUTCOME_COMPLETE}
}

// TestEndedStepIsForgotten checks that the agent keeps neither the load nor the request of an ended step: with many
// files, they take megabytes. It still recognizes the same request in any epoch, and refuses a different request for
// that step.
func TestEndedStepIsForgotten(t *testing.T) {
	t.Parallel()
	observed := &forgotten{}
	r := serve(t, func(a *Agent) { a.tools.fio = observed })
	if ended, _ := r.run(request("a", "x"), noLimit); ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
		t.Fatalf("got %v", ended)
	}
	eventually(t, "the load or the request of an ended step is still in memory", func() bool {
		runtime.GC()
		return observed.load.Value() == nil && observed.request.Value() == nil
	})
	again := request("a", "x")
	again.Epoch = 2
	if answer, err := r.Load(t.Context(), again); err != nil || answer.GetStatus().GetState() != agentapi.StepState_STEP_STATE_ENDED {
		t.Errorf("the same request of a newer leader: %v, %v", answer, err)
	}
	other := request("a", "y")
	other.Epoch = 2
	if _, err := r.Load(t.Context(), other); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "different content") {
		t.Errorf("another content: %v", err)
	}
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	now := r.agent.env.Clock.Monotonic()
	_, err := r.Start(t.Context(), &agentapi.StartRequest{Epoch: 1, Step: key("a"), AtNanoseconds: now, DeadlineNanoseconds: now + 1})
	if status.Code(err) != codes.NotFound {
		t.Errorf("an unknown step: %v", err)
	}
	r.load(request("a", endlessWrite))
	_, err = r.Start(t.Context(), &agentapi.StartRequest{Epoch: 1, Step: key("a"), AtNanoseconds: now, DeadlineNanoseconds: now})
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("no time: %v", err)
	}
	// A start command that arrives after its deadline ends the step without I/O.
	_, err = r.Start(t.Context(), &agentapi.StartRequest{Epoch: 1, Step: key("a"), AtNanoseconds: now - 2e9, DeadlineNanoseconds: now - 1e9})
	must(t, err)
	if ended, records := r.finished("a"); ended.GetReason() != "DeadlineExceeded" || len(records) != 1 {
		t.Errorf("got %v after %v", ended, records)
	}
	if _, err := os.Stat(filepath.Join(r.directory, dataPath, "data.0.0")); err == nil {
		t.Error("fio wrote although the deadline had passed")
	}
}

// TestStopAndDeadline checks that fio still reports its results when it is stopped by a command or by its deadline. A
// script replays recorded output of fio.
func TestStopAndDeadline(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		duration, warmUp time.Duration
		overdue          bool
		outcome          agentapi.Outcome
		reason, message  string
	}{
		"stopped": {duration: time.Hour, outcome: agentapi.Outcome_OUTCOME_STOPPED, reason: tool.ReasonStopped, message: "the test says so"},
		"at its deadline": {duration: time.Hour, overdue: true, outcome: agentapi.Outcome_OUTCOME_STOPPED, reason: tool.ReasonStopped,
			message: "the step's deadline passed"},
		"half a layout": {overdue: true, outcome: agentapi.Outcome_OUTCOME_FAILED, reason: tool.ReasonDeadline, message: "deadline"},
		"in its warm-up": {duration: 2 * time.Second, warmUp: 2 * time.Second, outcome: agentapi.Outcome_OUTCOME_STOPPED, reason: tool.ReasonStopped,
			message: "the test says so"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, script := serveScripted(t)
			dumps := agenttest.Dumps(t, recordedRuns+"sigint.stdout")
			if test.warmUp > 0 {
				dumps = agenttest.Dumps(t, recordedRuns+"ramp.stdout")[:2]
			}
			script.clock.Set(dumps[0].Milliseconds-1000, 0)
			load := request("a", "x")
			load.GetFio().DurationNanoseconds, load.GetFio().WarmUpNanoseconds = int64(test.duration), int64(test.warmUp)
			load.GetFio().Jobs = 2
			r.load(load)
			script.ready()
			if test.overdue {
				// The clock stands still, so the command is on time however late it arrives.
				r.start("a", time.Millisecond)
			} else {
				r.start("a", noLimit)
				for _, one := range dumps[:len(dumps)-1] {
					script.says(one)
				}
				read := r.tool()
				eventually(t, "what it says is not read", func() bool { return read.Documents() == int64(len(dumps)-1) })
				r.stop("a", "the test says so")
			}
			script.told()
			script.says(dumps[len(dumps)-1])
			script.ends(128)
			ended, records := r.finished("a")
			if ended.GetOutcome() != test.outcome || ended.GetReason() != test.reason || !strings.Contains(ended.GetMessage(), test.message) {
				t.Errorf("got %v", ended)
			}
			bytes, _ := sums(ended.GetOperations())
			if got, _ := sampled(records); test.warmUp == 0 && got != bytes || (bytes == 0) != (test.warmUp > 0) {
				t.Errorf("samples add up to %d bytes, the result says %d", got, bytes)
			}
			r.startsNothingAgain("a")
		})
	}
}

// TestStopAtAnyMoment checks that fio exits at whatever moment it is stopped, and that the bytes it has written count.
func TestStopAtAnyMoment(t *testing.T) {
	t.Parallel()
	for name, moment := range map[string]func(*rig){
		"while it reads":       func(*rig) {},
		"while it starts":      func(*rig) { time.Sleep(150 * time.Millisecond) },
		"while its jobs start": func(*rig) { time.Sleep(260 * time.Millisecond) },
		"while it writes":      func(r *rig) { r.begun(1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := serve(t, nil)
			load := request("a", endlessWrite)
			load.GetFio().DurationNanoseconds = int64(24 * time.Hour)
			r.load(load)
			r.start("a", noLimit)
			moment(r)
			r.stop("a", "the test says so")
			ended, records := r.finished("a")
			if ended.GetOutcome() != agentapi.Outcome_OUTCOME_STOPPED || ended.GetReason() != tool.ReasonStopped || !strings.HasPrefix(ended.GetMessage(), "the test says so") {
				t.Errorf("got %v", ended)
			}
			bytes, _ := sums(ended.GetOperations())
			if got, _ := sampled(records); got != bytes || bytes == 0 && name == "while it writes" {
				t.Errorf("samples add up to %d bytes, fio says %d", got, bytes)
			}
			r.startsNothingAgain("a")
		})
	}
}

func TestStopBeforeTheStart(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	r.load(request("a", endlessWrite))
	r.stop("a", "the test says so")
	if ended, _ := r.finished("a"); ended.GetOutcome() != agentapi.Outcome_OUTCOME_STOPPED || ended.GetMessage() != "before its start: the test says so" {
		t.Errorf("got %v", ended)
	}
	r.startsNothingAgain("a")
}

func (r *rig) stop(id, reason string) {
	r.t.Helper()
	_, err := r.Stop(r.t.Context(), &agentapi.StopRequest{Epoch: 1, Step: key(id), Reason: reason})
	must(r.t, err)
}

// startsNothingAgain checks that a start command for an ended step has no effect.
func (r *rig) startsNothingAgain(id string) {
	r.t.Helper()
	r.start(id, noLimit)
	r.agent.mu.Lock()
	defer r.agent.mu.Unlock()
	if r.agent.live != nil {
		r.t.Error("a step is live after its end")
	}
}

// TestMissedStart checks that a start command is refused long after its start time, because the other clients have
// already begun.
func TestMissedStart(t *testing.T) {
	t.Parallel()
	r := serve(t, func(a *Agent) { a.env.Timeouts.Late = defaultTimeouts.Late })
	r.load(request("a", endlessWrite))
	clock, err := r.Clock(t.Context(), &agentapi.ClockRequest{})
	must(t, err)
	now := clock.GetMonotonicNanoseconds()
	_, err = r.Start(t.Context(), &agentapi.StartRequest{Epoch: 1, Step: &agentapi.StepKey{Id: "a", Attempt: 1},
		AtNanoseconds: now - int64(time.Second), DeadlineNanoseconds: now + int64(noLimit)})
	must(t, err)
	ended, _ := r.finished("a")
	if ended.GetOutcome() != agentapi.Outcome_OUTCOME_FAILED || ended.GetReason() != agentapi.ReasonStartMissed ||
		len(ended.GetOperations()) > 0 || !strings.Contains(ended.GetMessage(), "after the start instant") {
		t.Errorf("ended %v", ended)
	}
}
