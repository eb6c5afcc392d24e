package scale

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agent"
	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/measure"
)

// fio is a model of fio in real time: a sample a second with counts of each operation, and the latencies of each
// minute. It touches no file.
type fio struct {
	ledger *ledger
	client int
	// left is done when the agent's pod is deleted.
	left context.Context
	// flood makes the agent a hostile one, which reports as much as it can.
	flood bool
}

var _ tool.Tool = (*fio)(nil)

const fioVersion = "fio-3.42"

// Describe implements tool.Tool.
func (f *fio) Describe(context.Context) []*agentapi.Tool {
	return []*agentapi.Tool{{Name: "fio", Version: fioVersion, Path: "/simulated/fio"}}
}

// Load implements tool.Tool.
func (f *fio) Load(step *tool.Step) (tool.Load, error) {
	made := &load{fio: f, step: step, given: step.Request.GetFio(), phase: phaseOf(step.Request.GetStep().GetId())}
	if err := made.read(made.given.GetJob()); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	return made, nil
}

// Close implements io.Closer: the agent calls it when it is told to finish, and waits. So the run's counts can be read
// from the operator while nothing is added to them any more.
func (f *fio) Close() error {
	if f.flood {
		return nil // Nobody compares it.
	}
	f.ledger.hold(f.left)
	return nil
}

// phaseOf gives the phase of a step of one phase, such as load of 01-load.
func phaseOf(step string) string {
	_, phase, _ := strings.Cut(step, "-")
	return phase
}

// latencies is the grid of all latencies of the model: quantiles of a log-normal distribution about 400 µs, each with
// its share of the operations.
const latencies = 40

var grid = func() (made [latencies]struct {
	nanoseconds uint64
	share       float64
}) {
	sum := 0.0
	for i := range made {
		z := -3 + 7*float64(i)/(latencies-1)
		made[i].nanoseconds = uint64(400_000 * math.Exp(0.6*z))
		made[i].share = math.Exp(-z * z / 2)
		sum += made[i].share
	}
	for i := range made {
		made[i].share /= sum
	}
	return made
}()

// counts holds the number of operations for each latency of the grid.
type counts [latencies]uint64

// variants are seconds of different rates, of which the model takes one after the other.
var variants = func() (made [16]counts) {
	for v := range made {
		rate := 5000 * (1 + 0.1*math.Sin(float64(v)*math.Pi/8))
		for i := range grid {
			made[v][i] = uint64(math.Round(rate * grid[i].share))
		}
	}
	return made
}()

func (c *counts) add(other *counts) {
	for i := range c {
		c[i] += other[i]
	}
}

func (c *counts) sum() (operations, nanoseconds uint64) {
	for i := range c {
		operations += c[i]
		nanoseconds += c[i] * grid[i].nanoseconds
	}
	return operations, nanoseconds
}

func (c *counts) latency() *measure.Latency {
	made := &measure.Latency{}
	for i := range c {
		if c[i] > 0 {
			made.AddNanoseconds(grid[i].nanoseconds, c[i])
		}
	}
	return made
}

// load is a fio with a job.
type load struct {
	*fio

	step  *tool.Step
	given *agentapi.FioTool
	phase string

	blockBytes uint64
	// operations are those that the job mixes.
	operations []measure.Operation

	// minute and total are the latencies since the last minute, and of the whole measured time.
	minute, total [measure.NumOperations]counts
	since         int64
}

// read takes from a job file what the model needs.
func (l *load) read(job string) error {
	options := map[string]string{}
	for line := range strings.Lines(job) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), "="); found {
			options[name] = value
		}
	}
	var err error
	if l.blockBytes, err = strconv.ParseUint(options["bs"], 10, 64); err != nil {
		return fmt.Errorf("the job has no block size: %w", err)
	}
	switch pattern := options["rw"]; pattern {
	case "read", "randread":
		l.operations = []measure.Operation{measure.Read}
	case "write", "randwrite":
		l.operations = []measure.Operation{measure.Write}
	case "rw", "randrw", "readwrite":
		l.operations = []measure.Operation{measure.Read, measure.Write}
	default:
		return fmt.Errorf("rw=%s is not simulated", pattern)
	}
	return nil
}

// Discard implements tool.Load.
func (l *load) Discard() {}

// layout is the time that the model takes for a job with a fixed amount of work.
const layout = 2 * time.Second

// Run implements tool.Load. Its samples end at whole intervals after its start, however late the machine wakes it.
func (l *load) Run(deadline int64) *agentapi.Ended {
	clock := agent.SystemClock{}
	l.step.Started()
	begin := clock.Monotonic()
	if l.flood {
		l.overflow(begin, deadline)
	}
	measured := begin + l.given.GetWarmUpNanoseconds()
	end := measured + l.given.GetDurationNanoseconds()
	if l.given.GetDurationNanoseconds() == 0 {
		end = begin + int64(layout)
	}
	l.since = measured
	interval := l.given.GetSampleIntervalNanoseconds()
	last := begin
	for n := l.client; last < end; n++ {
		next := min(last+interval, end)
		if last < measured {
			next = min(next, measured)
		}
		if why := l.sleep(clock, min(next, deadline)); why != "" || next > deadline {
			return l.ended(measured, last, why)
		}
		l.ledger.late(time.Duration(clock.Monotonic() - next))
		l.sample(last, next, last < measured, &variants[n%len(variants)])
		if last = next; last-l.since >= int64(time.Minute) {
			l.flush(last)
		}
	}
	l.flush(last)
	return l.ended(measured, last, "")
}

// sleep returns at an instant, or earlier with the reason to stop.
func (l *load) sleep(clock agent.SystemClock, at int64) string {
	timer := time.NewTimer(time.Duration(at - clock.Monotonic()))
	defer timer.Stop()
	select {
	case <-timer.C:
		return ""
	case <-l.step.Stopped.Done():
		return context.Cause(l.step.Stopped).Error()
	}
}

// sample reports a second.
func (l *load) sample(start, end int64, warmUp bool, done *counts) {
	sample := &agentapi.Sample{StartNanoseconds: start, EndNanoseconds: end, WarmUp: warmUp}
	operations, nanoseconds := done.sum()
	for _, operation := range l.operations {
		sample.Counts = append(sample.Counts, &agentapi.OperationCount{Operation: uint32(operation),
			Bytes: operations * l.blockBytes, Operations: operations, MeanLatencyMicroseconds: nanoseconds / operations / 1000})
		if !warmUp {
			l.minute[operation].add(done)
			l.total[operation].add(done)
		}
	}
	l.ledger.sampled(l.phase, l.operations, measure.Counter{Bytes: operations * l.blockBytes, Operations: operations}, warmUp)
	l.step.Sample(sample)
}

// flush reports the latencies of the minute.
func (l *load) flush(now int64) {
	record := &agentapi.LatencyMinute{StartNanoseconds: l.since, EndNanoseconds: now}
	for _, operation := range l.operations {
		histogram := l.minute[operation].latency().Histogram
		if histogram.Count() == 0 {
			continue
		}
		encoded, err := histogram.MarshalBinary()
		if err != nil {
			panic(err) // The model counts no 2^64 operations.
		}
		record.Histograms = append(record.Histograms, &agentapi.OperationHistogram{
			Operation: uint32(operation), Histogram: encoded})
	}
	if len(record.GetHistograms()) > 0 {
		l.step.Write(&agentapi.Record{Entry: &agentapi.Record_LatencyMinute{LatencyMinute: record}})
	}
	l.minute, l.since = [measure.NumOperations]counts{}, now
}

// ended is the result; why says who stopped it before its time.
func (l *load) ended(measured, last int64, why string) *agentapi.Ended {
	ended := &agentapi.Ended{Outcome: agentapi.Outcome_OUTCOME_COMPLETE, ToolVersion: fioVersion}
	if why != "" {
		ended.Outcome, ended.Reason, ended.Message = agentapi.Outcome_OUTCOME_STOPPED, tool.ReasonStopped, why
	}
	if last <= measured {
		return ended
	}
	ended.IoStartNanoseconds, ended.IoEndNanoseconds = measured, last
	for _, operation := range l.operations {
		latency := l.total[operation].latency()
		encoded, err := latency.MarshalBinary()
		if err != nil {
			panic(err) // As above.
		}
		ended.Operations = append(ended.Operations, &agentapi.OperationResult{Operation: uint32(operation),
			Bytes: latency.Count * l.blockBytes, Operations: latency.Count, Latency: encoded, CompletionLatency: encoded})
	}
	return ended
}

// floodRecords is the number of samples that a hostile agent reports at once: those of a few agents are beyond the budget of a run.
const floodRecords = 300_000

// overflow reports samples of a nanosecond each, as fast as the operator reads them.
func (l *load) overflow(begin, deadline int64) {
	for n := range int64(floodRecords) {
		if l.step.Stopped.Err() != nil || begin+n >= deadline {
			return
		}
		l.step.Sample(&agentapi.Sample{StartNanoseconds: begin + n, EndNanoseconds: begin + n + 1, Counts: []*agentapi.OperationCount{
			{Operation: uint32(measure.Read), Bytes: 1, Operations: 1}}})
	}
}
