package conductor_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/conductor"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/engine/fio"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/test/builders"
)

func TestLoadRequest(t *testing.T) {
	t.Parallel()
	const bytes = 64 << 20
	tests := map[string]struct {
		profile       *v1alpha1.FioProfile
		purpose       plan.Purpose
		passes        int
		reads, writes int
		// content is true if the step writes. reuse is true if the step writes nothing when all data already exists.
		content, reuse bool
		written        uint64
		direct         bool
		job            string
	}{
		"prepare":      {profile: builders.Fio().Reads().Obj(), purpose: plan.Prepare, writes: 1, written: bytes, content: true, reuse: true, direct: true, job: "rw=write"},
		"precondition": {profile: builders.Fio().Reads().Obj(), purpose: plan.Precondition, passes: 3, writes: 1, written: 3 * bytes, content: true, direct: true, job: "loops=3"},
		"precondition of odd blocks": {profile: builders.JobFile("[job]\nrw=randwrite\nbs=12k\nsize=64m\ndirect=1\niodepth=8\nioengine=libaio\n", "64Mi").Obj(),
			purpose: plan.Precondition, passes: 2, writes: 1, written: 2 * (bytes / (12 << 10) * (12 << 10)), content: true, direct: true, job: "rw=randwrite"},
		"writes":   {profile: builders.Fio().Obj(), purpose: plan.Measure, content: true, direct: true, job: "rw=randwrite"},
		"reads":    {profile: builders.Fio().Reads().Obj(), purpose: plan.Measure, reads: 1, direct: true, job: "rw=randread"},
		"both":     {profile: builders.Fio().ReadPercent(70).Obj(), purpose: plan.Measure, reads: 1, content: true, direct: true, job: "rwmixread=70"},
		"buffered": {profile: builders.Fio().Mutate(func(p *v1alpha1.FioProfile) { p.Direct = new(bool) }).Obj(), purpose: plan.Measure, content: true, job: "direct=0"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			step := plan.Step{
				ID: "01-a", PhaseIndex: 1, Purpose: test.purpose, Passes: test.passes, Duration: 10 * time.Second, WarmUp: 2 * time.Second,
				Targets: []string{"target"}, Workloads: map[string]*v1alpha1.Engine{"target": {Fio: test.profile}},
				NewBytes: map[string]uint64{"target": 5},
			}
			if step.WorkBound() {
				step.Duration, step.WarmUp = 0, 0
			}
			got, err := conductor.LoadRequest(step, clientKey(0), 42, conductor.Job{})
			must(t, err)
			again, err := conductor.LoadRequest(step, clientKey(0), 42, conductor.Job{})
			must(t, err)
			if !proto.Equal(got, again) {
				t.Error("the request differs when it is built again")
			}
			dataset, tool := got.GetDataset(), got.GetFio()
			if len(dataset.GetReads()) != test.reads || len(dataset.GetWrites()) != test.writes || len(dataset.GetFiles()) != 1 ||
				dataset.GetFiles()[0].GetBytes() != bytes || dataset.GetNewBytes() != 5 {
				t.Errorf("dataset %v", dataset)
			}
			if (dataset.GetContent() != "") != test.content || dataset.GetReuse() != test.reuse || test.content && dataset.GetContent() != fio.ContentOf(test.profile) {
				t.Errorf("content %q, reuse %v", dataset.GetContent(), dataset.GetReuse())
			}
			outstanding := uint64(8)
			if step.WorkBound() {
				outstanding = 16 // layouts use their own queue depth
			}
			if tool.GetWrittenBytes() != test.written || tool.GetDirect() != test.direct || tool.GetMaxOutstanding() != outstanding || tool.GetJobs() != 1 ||
				tool.GetDurationNanoseconds() != int64(step.Duration) || tool.GetWarmUpNanoseconds() != int64(step.WarmUp) || tool.GetSampleIntervalNanoseconds() != 1e9 {
				t.Errorf("tool %v", tool)
			}
			if !strings.Contains(tool.GetJob(), test.job) {
				t.Errorf("job without %q:\n%s", test.job, tool.GetJob())
			}
		})
	}
}

func TestLoadRequestNamesTheClient(t *testing.T) {
	t.Parallel()
	bad := builders.JobFile("[job]\nexec_prerun=reboot\n", "1Mi").Obj()
	step := plan.Step{ID: "00-a", Purpose: plan.Measure, Duration: time.Second, Workloads: map[string]*v1alpha1.Engine{"target": {Fio: bad}}}
	if _, err := conductor.LoadRequest(step, clientKey(3), 1, conductor.Job{}); err == nil || !strings.HasPrefix(err.Error(), "client target/3: ") || !strings.Contains(err.Error(), "exec_prerun") {
		t.Errorf("got %v", err)
	}
}

// TestRequestsThatCannotBeBuilt checks that the run fails, instead of retrying forever, if this version cannot build a
// load request.
func TestRequestsThatCannotBeBuilt(t *testing.T) {
	t.Parallel()
	bad := builders.JobFile("[job]\nexec_prerun=reboot\n", "1Mi").Obj()
	step := plan.Step{ID: "00-a", Purpose: plan.Measure, Duration: time.Second, Targets: []string{"target"}, Clients: 1,
		Workloads: map[string]*v1alpha1.Engine{"target": {Fio: bad}}}
	c := conduct(t, 1, time.Hour)
	_, err := c.Requests(step, 1, []decide.ClientKey{clientKey(0)}, 1, func(string) bool { return true })
	failure, fails := errors.AsType[*decide.Failure](err)
	if !fails || failure.Reason != v1alpha1.ReasonInvalidWorkload || !strings.Contains(failure.Message, "exec_prerun") {
		t.Errorf("got %v", err)
	}
}

// TestLoadRequestOfAnotherAttempt checks that each attempt of a step uses other offsets, because the store may have
// cached those of an earlier attempt, and that a repeated request of one attempt is identical.
func TestLoadRequestOfAnotherAttempt(t *testing.T) {
	t.Parallel()
	step := plan.Step{
		ID: "01-a", PhaseIndex: 1, Purpose: plan.Measure, Duration: 10 * time.Second, Targets: []string{"target"}, Clients: 1,
		Workloads: map[string]*v1alpha1.Engine{"target": {Fio: builders.Fio().Reads().Obj()}},
	}
	seeds := map[string]int{}
	for attempt := 1; attempt <= 3; attempt++ {
		for range 2 {
			c := conduct(t, 1, time.Hour)
			requests, err := c.Requests(step, attempt, []decide.ClientKey{clientKey(0)}, 42, func(string) bool { return true })
			must(t, err)
			_, after, _ := strings.Cut(requests(clientKey(0)).GetFio().GetJob(), "randseed=")
			seed, _, _ := strings.Cut(after, "\n")
			if other, known := seeds[seed]; known && other != attempt {
				t.Errorf("attempts %d and %d have the same seed %q", other, attempt, seed)
			}
			seeds[seed] = attempt
		}
	}
	if len(seeds) != 3 {
		t.Errorf("three attempts, each sent twice, have the seeds %v", seeds)
	}
}

// TestRequestsOnASharedVolume checks that the load request says how many clients add data to a shared volume, including
// clients that only later steps of a ramp load.
func TestRequestsOnASharedVolume(t *testing.T) {
	t.Parallel()
	planned, problems := plan.Make(builders.Benchmark("b").Target("target").Clients(8).Workload(builders.Fio()).
		Ramp("ramp", v1alpha1.RampClients, "30s", 1, 4).
		Steady("other", "30s").WithLoad(builders.Fio().BlockSize("8Ki").Engine()).Run(), 1)
	must(t, problems.ToAggregate())
	c := conductor.New(conductor.Options{RunUID: runUID, Epoch: 1, LossTimeout: time.Hour, Steps: planned.Steps})
	t.Cleanup(c.Close)
	check := func(shared bool, want uint32) {
		t.Helper()
		keys := []decide.ClientKey{clientKey(0)}
		requests, err := c.Requests(planned.Steps[0], 1, keys, 42, func(string) bool { return shared })
		must(t, err)
		if got := requests(clientKey(0)).GetDataset(); got.GetSharing() != want || got.GetNewBytes() != 64<<20 {
			t.Errorf("shared %v: %d clients with %d bytes each, want %d", shared, got.GetSharing(), got.GetNewBytes(), want)
		}
	}
	check(true, 4)
	check(false, 0)
	// After a loss, the run may continue with less data than planned, so no number is sent.
	c.Expect(clientKey(2), 0).Lose("its node is gone")
	check(true, 0)
}

// TestRequestsAreNotKept checks that Requests does not retain the requests that it builds, and that building one again
// gives an equal request.
func TestRequestsAreNotKept(t *testing.T) {
	t.Parallel()
	step := plan.Step{
		ID: "01-a", PhaseIndex: 1, Purpose: plan.Measure, Duration: 10 * time.Second, Targets: []string{"target"}, Clients: 1,
		Workloads: map[string]*v1alpha1.Engine{"target": {Fio: builders.Fio().Reads().Obj()}},
	}
	c := conduct(t, 1, time.Hour)
	requests, err := c.Requests(step, 1, []decide.ClientKey{clientKey(0)}, 42, func(string) bool { return true })
	must(t, err)
	once, again := requests(clientKey(0)), requests(clientKey(0))
	if once == again || !proto.Equal(once, again) {
		t.Errorf("the request is retained, or differs when it is built again:\n%v\n%v", once, again)
	}
}
