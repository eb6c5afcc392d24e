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

// fio is a model of fio in real time. It reports a sample per second with the counts of each operation, and the
// latencies of each minute. It accesses no files.
type fio struct {
	ledger *ledger
	client int
	// left is done when the agent's pod is deleted.
	left context.Context
	// flood makes the agent hostile: it reports as much as it can.
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

// Close implements io.Closer. The agent calls it when it is asked to finish. Close waits until the run's counts
// have been compared, so that they can be read from the operator while they no longer change.
func (f *fio) Close() error {
	if f.flood {
		return nil // Its counts are not compared.
	}
	f.ledger.hold(f.left)
	return nil
}

// phaseOf returns the phase in a step's ID, such as load for 01-load.
func phaseOf(step string) string {
	_, phase, _ := strings.Cut(step, "-")
	return phase
}

// latencies is the size of grid, which holds all latencies of the model: points of a log-normal distribution with a
// median of 400 µs, each with its share of the operations.
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

// variants holds the counts of seconds with different rates, which the model reports in turn.
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

// load is a model of fio with a job.
type load struct {
	*fio

	step  *tool.Step
	given *agentapi.FioTool
	phase string

	blockBytes uint64
	// operations lists the operations that the job mixes.
	operations []measure.Operation

	// minute holds the latencies since the last flush, and total those of the whole measured time.
	minute, total [measure.NumOperations]counts
	since         int64
}

// read reads the options that the model needs from a job file.
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

// layout is the duration of a job with a fixed amount of work.
const layout = 2 * time.Second

// Run implements tool.Load. Samples end at whole intervals after the start, even if the machine wakes the model late.
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

// sleep returns "" at the given time, or the reason to stop if that comes earlier.
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

// sample reports a sample.
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

// flush reports the latencies since the last flush.
func (l *load) flush(now int64) {
	record := &agentapi.LatencyMinute{StartNanoseconds: l.since, EndNanoseconds: now}
	for _, operation := range l.operations {
		histogram := l.minute[operation].latency().Histogram
		if histogram.Count() == 0 {
			continue
		}
		encoded, err := histogram.MarshalBinary()
		if err != nil {
			panic(err) // The counts do not overflow.
		}
		record.Histograms = append(record.Histograms, &agentapi.OperationHistogram{
			Operation: uint32(operation), Histogram: encoded})
	}
	if len(record.GetHistograms()) > 0 {
		l.step.Write(&agentapi.Record{Entry: &agentapi.Record_LatencyMinute{LatencyMinute: record}})
	}
	l.minute, l.since = [measure.NumOperations]counts{}, now
}

// ended returns the result of the load. why is the reason if the load was stopped early, otherwise "".
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

// floodRecords is the number of samples that a hostile agent reports at once. A few such agents exceed the memory
// budget of a run.
const floodRecords = 300_000

// overflow reports samples of one nanosecond each, as fast as the operator reads them.
func (l *load) overflow(begin, deadline int64) {
	for n := range int64(floodRecords) {
		if l.step.Stopped.Err() != nil || begin+n >= deadline {
			return
		}
		l.step.Sample(&agentapi.Sample{StartNanoseconds: begin + n, EndNanoseconds: begin + n + 1, Counts: []*agentapi.OperationCount{
			{Operation: uint32(measure.Read), Bytes: 1, Operations: 1}}})
	}
}
