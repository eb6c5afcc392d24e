package sim

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/measure"
)

// firstIO is the time from fio's start to its first I/O. laterIO is added for each further client.
const (
	firstIO = 250 * time.Millisecond
	laterIO = 20 * time.Millisecond
)

// Fio is a model of fio on one client. It reads the job that the product has rendered, loads the store of its target,
// and reports samples.
type Fio struct {
	store *Store
	clock Clock
	files *Files
	delay time.Duration
	// version is the version of fio that the model reports.
	version string
	// begun is called whenever fio is started for an attempt of a step.
	begun func(*agentapi.StepKey)
}

var _ tool.Tool = (*Fio)(nil)

// Files holds the files of a client by name, with the bytes written to each. They outlive the client's agents.
type Files struct {
	mu      sync.Mutex
	written map[string]uint64
	// small is true once the files of a smallFiles phase have been written.
	small bool
}

// missing returns the name of a file that a load reads and that does not exist, or "" if there is none.
func (f *Files) missing(load *agentapi.LoadRequest) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, file := range load.GetDataset().GetReads() {
		if f.written[file.GetName()] < file.GetBytes() {
			return file.GetName()
		}
	}
	small := strings.Contains(load.GetFio().GetJob(), "filename_format=small")
	if small && len(load.GetDataset().GetNewFolders()) == 0 && !f.small {
		return "small.0"
	}
	return ""
}

func (f *Files) write(data *agentapi.Dataset) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.written == nil {
		f.written = map[string]uint64{}
	}
	for _, file := range data.GetWrites() {
		f.written[file.GetName()] = max(f.written[file.GetName()], file.GetBytes())
	}
	f.small = f.small || len(data.GetNewFolders()) > 0
}

// Lose removes all files.
func (f *Files) Lose() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.written, f.small = nil, false
}

// Describe implements tool.Tool.
func (f *Fio) Describe(context.Context) []*agentapi.Tool {
	return []*agentapi.Tool{{Name: "fio", Version: f.version, Path: "/simulated/fio"}}
}

// Load implements tool.Tool.
func (f *Fio) Load(step *tool.Step) (tool.Load, error) {
	request := step.Request
	if name := f.files.missing(request); name != "" {
		return nil, status.Errorf(codes.FailedPrecondition, "file %s is to be read and was not laid out", name)
	}
	asked, err := demandOf(request.GetFio())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	return &fioLoad{Fio: f, step: step, request: request, demand: asked}, nil
}

// demandOf returns the demand that a job file describes.
func demandOf(given *agentapi.FioTool) (demand, error) {
	options := map[string]string{}
	for line := range strings.Lines(given.GetJob()) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), "="); found {
			options[name] = value
		}
	}
	block, err := strconv.ParseInt(options["bs"], 10, 64)
	if err != nil {
		return demand{}, fmt.Errorf("the job has no block size: %w", err)
	}
	asked := demand{blockBytes: block, depth: int64(max(1, given.GetMaxOutstanding()))}
	switch pattern := options["rw"]; pattern {
	case "read", "randread":
		asked.readPercent = 100
	case "rw", "randrw", "readwrite":
		if asked.readPercent, err = strconv.Atoi(options["rwmixread"]); err != nil {
			return demand{}, fmt.Errorf("the job has no mix: %w", err)
		}
	case "write", "randwrite":
	default:
		return demand{}, fmt.Errorf("rw=%s is not simulated", pattern)
	}
	if asked.open, err = openLoopOf(given.GetJob(), options["randseed"]); err != nil {
		return demand{}, err
	}
	if given.GetDurationNanoseconds() == 0 {
		asked.work = int64(max(given.GetWrittenBytes(), given.GetOperations()*uint64(block)))
	}
	return asked, nil
}

// openLoopOf returns the open loop that the sections of a job file describe, or nil if the job is a closed loop.
func openLoopOf(job, seed string) (*openLoop, error) {
	made := &openLoop{}
	jobs := 1
	for line := range strings.Lines(job) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch {
		case strings.HasPrefix(name, "["):
			jobs = 1
		case name == "numjobs":
			jobs, _ = strconv.Atoi(value)
		case name == "rate_iops":
			made.jobs += jobs
			for part := range strings.SplitSeq(value, ",") {
				rate, err := strconv.ParseFloat(part, 64)
				if err != nil {
					return nil, fmt.Errorf("rate_iops=%s is not simulated: %w", value, err)
				}
				made.perSecond += rate * float64(jobs)
			}
		}
	}
	if !strings.Contains(job, "rate_process=poisson") {
		return nil, nil //nolint:nilnil // A closed loop.
	}
	var err error
	made.seed, err = strconv.ParseUint(seed, 10, 64)
	return made, err
}

// fioLoad is a model of fio with a job.
type fioLoad struct {
	*Fio
	step    *tool.Step
	request *agentapi.LoadRequest
	demand  demand

	flow *flow
	// measured is the end of the warm-up, and end the end of the load. end is zero if the load has a fixed amount of work.
	measured, end time.Time
	// sampled is the end of the last sample.
	sampled time.Time

	total  [measure.NumOperations]measure.Latency
	bytes  [measure.NumOperations]uint64
	minute [measure.NumOperations]measure.Histogram
	// since is the start of the interval that minute covers.
	since time.Time
}

// Discard implements tool.Load.
func (l *fioLoad) Discard() {}

// Run implements tool.Load.
func (l *fioLoad) Run(deadline int64) *agentapi.Ended {
	ctx := l.step.Stopped
	l.begun(l.request.GetStep())
	latest := time.Now().Add(time.Duration(deadline - l.clock.Monotonic()))
	l.step.Started()
	if why := sleep(ctx, time.Now().Add(l.delay), latest); why != "" {
		return &agentapi.Ended{Outcome: agentapi.Outcome_OUTCOME_STOPPED, Reason: "Stopped", Message: why + "; fio had measured nothing yet"}
	}
	l.sampled = time.Now()
	given := l.request.GetFio()
	l.measured = l.sampled.Add(time.Duration(given.GetWarmUpNanoseconds()))
	l.since = l.measured
	if given.GetDurationNanoseconds() > 0 {
		l.end = l.measured.Add(time.Duration(given.GetDurationNanoseconds()))
	}
	l.flow = l.store.begin(l.demand)
	why := l.follow(ctx, latest, time.Duration(given.GetSampleIntervalNanoseconds()))
	last := l.drain()
	l.sample(last)
	l.flush()
	return l.ended(why, last, latest)
}

// sleep returns "" at until, or the reason to stop if the context ends or latest passes earlier.
func sleep(ctx context.Context, until, latest time.Time) string {
	timer := time.NewTimer(time.Until(earlier(until, latest)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx).Error()
	}
	if !time.Now().Before(latest) {
		return "the step's deadline passed"
	}
	return ""
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// follow takes samples until the load ends, and returns the reason if the load was stopped.
func (l *fioLoad) follow(ctx context.Context, latest time.Time, interval time.Duration) string {
	begin := l.sampled
	for n := 1; ; {
		next := begin.Add(time.Duration(n) * interval)
		if l.sampled.Before(l.measured) {
			next = earlier(next, l.measured)
		}
		wake := next
		if l.end.IsZero() {
			wake = earlier(wake, l.flow.look().next)
		} else {
			wake = earlier(wake, l.end)
		}
		if why := sleep(ctx, wake, latest); why != "" {
			return why
		}
		switch {
		case l.end.IsZero() && l.flow.look().ended, !l.end.IsZero() && !wake.Before(l.end):
			return ""
		case !wake.Before(next):
			l.sample(next)
			for !begin.Add(time.Duration(n) * interval).After(next) {
				n++
			}
		}
	}
}

// drain stops the load, waits for outstanding requests, and returns the end of the load.
func (l *fioLoad) drain() time.Time {
	l.flow.stop()
	stopped := time.Now()
	for {
		seen := l.flow.look()
		if seen.ended {
			if l.end.IsZero() || seen.last.After(stopped) {
				return seen.last
			}
			return stopped
		}
		time.Sleep(time.Until(seen.next))
	}
}

// sample reports a sample that ends at until.
func (l *fioLoad) sample(until time.Time) {
	done, bytes := l.flow.take()
	warmUp := l.sampled.Before(l.measured)
	sample := &agentapi.Sample{StartNanoseconds: l.clock.At(l.sampled), EndNanoseconds: l.clock.At(until), WarmUp: warmUp}
	for operation := range done {
		if done[operation].Count == 0 {
			continue
		}
		sample.Counts = append(sample.Counts, &agentapi.OperationCount{
			Operation: uint32(operation), Bytes: bytes[operation], Operations: done[operation].Count,
			MeanLatencyMicroseconds: (done[operation].MeanNanoseconds() + 999) / 1000})
		if !warmUp {
			l.total[operation].Merge(&done[operation])
			l.bytes[operation] += bytes[operation]
			l.minute[operation].Merge(&done[operation].Histogram)
		}
	}
	if until.After(l.sampled) || len(sample.GetCounts()) > 0 {
		l.step.Sample(sample)
	}
	l.sampled = until
	if until.Sub(l.since) >= time.Minute {
		l.flush()
	}
}

// flush reports the latencies since the last flush, usually of a minute.
func (l *fioLoad) flush() {
	record := &agentapi.LatencyMinute{StartNanoseconds: l.clock.At(l.since), EndNanoseconds: l.clock.At(l.sampled)}
	for operation := range l.minute {
		if l.minute[operation].Count() == 0 {
			continue
		}
		encoded, err := l.minute[operation].MarshalBinary()
		if err != nil {
			panic(err) // The counts do not overflow.
		}
		record.Histograms = append(record.Histograms, &agentapi.OperationHistogram{Operation: uint32(operation), Histogram: encoded})
	}
	if len(record.GetHistograms()) > 0 {
		l.step.Write(&agentapi.Record{Entry: &agentapi.Record_LatencyMinute{LatencyMinute: record}})
	}
	l.minute, l.since = [measure.NumOperations]measure.Histogram{}, l.sampled
}

// ended returns fio's result.
func (l *fioLoad) ended(why string, last, latest time.Time) *agentapi.Ended {
	ended := &agentapi.Ended{Outcome: agentapi.Outcome_OUTCOME_COMPLETE, ToolVersion: l.version}
	if why != "" {
		ended.Outcome, ended.Reason, ended.Message = agentapi.Outcome_OUTCOME_STOPPED, "Stopped", why
		if l.end.IsZero() && !time.Now().Before(latest) {
			// An incomplete layout is useless.
			ended.Outcome, ended.Reason = agentapi.Outcome_OUTCOME_FAILED, "DeadlineExceeded"
		}
	} else {
		l.files.write(l.request.GetDataset())
	}
	if last.After(l.measured) {
		ended.IoStartNanoseconds, ended.IoEndNanoseconds = l.clock.At(l.measured), l.clock.At(last)
	}
	for operation := range l.total {
		if l.total[operation].Count == 0 {
			continue
		}
		encoded, err := l.total[operation].MarshalBinary()
		if err != nil {
			panic(err) // The counts do not overflow.
		}
		ended.Operations = append(ended.Operations, &agentapi.OperationResult{
			Operation: uint32(operation), Bytes: l.bytes[operation], Operations: l.total[operation].Count,
			Latency: encoded, CompletionLatency: encoded})
	}
	return ended
}
