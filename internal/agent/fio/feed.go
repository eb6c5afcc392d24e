package fio

import (
	"io"
	"sync/atomic"
	"time"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/engine/fio"
	"github.com/storagebench/storagebench/internal/measure"
)

// minute is the longest time that one latency record covers. firstRecord is the time that a step's first record covers.
// firstRecord is short, so that the latencies of a short step are visible while the step runs. Each later record covers
// as much time as all earlier records together, up to a minute.
const (
	minute      = time.Minute
	firstRecord = 5 * time.Second
	// roomForEarly is a log size in bytes. Above this size, all latency records cover a full minute, because the log of a
	// run with a thousand steps has room for only one latency record per step.
	roomForEarly = 3 << 20
)

// feed reads fio's output as it arrives and writes samples to the log.
type feed struct {
	step    *tool.Step
	stream  fio.Stream
	sampler *fio.Sampler
	wall    evenWall
	// documents is the number of JSON documents read from fio's output so far.
	documents atomic.Int64

	histograms  [measure.NumOperations]measure.Histogram
	minuteStart int64
	// settling holds the latencies recorded at the beginning of an open loop's measured time, until the load has settled.
	// The result excludes these latencies; see settle in internal/engine/fio.
	settling [measure.NumOperations]measure.Histogram
	// measured is the time at which the first latency record starts.
	measured int64
	ioEnd    int64
	problems []string
}

func newFeed(step *tool.Step) *feed {
	load := step.Request.GetFio()
	wall := newEvenWall(step.Clock)
	return &feed{step: step, wall: wall, sampler: fio.NewSampler(fio.SamplerOptions{
		WarmUp:      time.Duration(load.GetWarmUpNanoseconds()),
		Duration:    time.Duration(load.GetDurationNanoseconds()),
		Jobs:        int(load.GetJobs()),
		ToClock:     wall.monotonic,
		Outstanding: load.GetMaxOutstanding(),
	})}
}

// stopped informs the sampler that the load is being stopped early.
func (f *feed) stopped() { f.sampler.Stopped(f.step.Clock.Monotonic() + f.wall.offset) }

// read reads fio's output to its end.
func (f *feed) read(output io.Reader) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := output.Read(buffer)
		_, _ = f.stream.Write(buffer[:n])
		for _, document := range f.stream.Documents() {
			f.documents.Add(1)
			if document.TimestampMilliseconds != 0 {
				document.TimestampMilliseconds = f.wall.milliseconds(document.TimestampMilliseconds)
			}
			deltas, err := f.sampler.Add(document)
			if err != nil {
				f.problem(err.Error())
			}
			f.log(deltas)
		}
		if err != nil {
			break
		}
	}
	f.log(f.sampler.Close())
	f.flush()
}

// problem records a problem with the samples. The result reports the first three.
func (f *feed) problem(message string) {
	if len(f.problems) < 3 {
		f.problems = append(f.problems, message)
	}
}

func (f *feed) log(deltas []fio.Delta) {
	for _, delta := range deltas {
		sample := &agentapi.Sample{
			StartNanoseconds: delta.Sample.StartNanoseconds,
			EndNanoseconds:   delta.Sample.EndNanoseconds,
			WarmUp:           delta.Sample.WarmUp,
		}
		for operation, counter := range delta.Sample.Counters {
			if counter != (measure.Counter{}) {
				sample.Counts = append(sample.Counts, &agentapi.OperationCount{
					Operation: uint32(operation), Bytes: counter.Bytes, Operations: counter.Operations,
					MeanLatencyMicroseconds: (delta.Histograms[operation].MeanNanoseconds() + 999) / 1000})
			}
		}
		f.step.Sample(sample)
		if delta.Sample.WarmUp {
			continue
		}
		f.ioEnd = delta.Sample.EndNanoseconds
		f.collect(delta)
	}
}

// collect adds the latencies of the time between two dumps to the open latency record.
func (f *feed) collect(delta fio.Delta) {
	if f.minuteStart == 0 {
		f.minuteStart = delta.Sample.StartNanoseconds
		f.measured = f.minuteStart
	}
	settles := delta.Sample.StartNanoseconds < f.measured+f.step.Request.GetFio().GetSettleNanoseconds()
	for operation := range delta.Histograms {
		f.histograms[operation].Merge(&delta.Histograms[operation])
		if settles {
			f.settling[operation].Merge(&delta.Histograms[operation])
		}
	}
	wanted := minute
	if f.step.LogBytes() < roomForEarly {
		wanted = recordLength(time.Duration(f.minuteStart - f.measured))
	}
	if time.Duration(delta.Sample.EndNanoseconds-f.minuteStart) >= wanted {
		f.flush()
	}
}

// recordLength returns the length of a latency record. elapsed is the time from the start of the first record to the
// start of this one. Records end at whole minutes of the step, to within one sample.
func recordLength(elapsed time.Duration) time.Duration {
	const aSample = time.Second
	left := minute - elapsed%minute
	if left <= aSample {
		left += minute
	}
	// Subtract a quarter of a sample, because samples may end slightly early. Otherwise the record would have to wait for
	// the next sample and would be a second longer.
	return min(left, max(firstRecord, elapsed)) - aSample/4
}

// flush writes the open latency record and begins the next.
func (f *feed) flush() {
	record := &agentapi.LatencyMinute{StartNanoseconds: f.minuteStart, EndNanoseconds: f.ioEnd}
	for operation := range f.histograms {
		if f.histograms[operation].Count() == 0 {
			continue
		}
		encoded, err := f.histograms[operation].MarshalBinary()
		if err != nil {
			f.problem(err.Error())
			continue
		}
		record.Histograms = append(record.Histograms, &agentapi.OperationHistogram{
			Operation: uint32(operation), Histogram: encoded})
	}
	if len(record.GetHistograms()) > 0 {
		f.step.Write(&agentapi.Record{Entry: &agentapi.Record_LatencyMinute{LatencyMinute: record}})
	}
	f.histograms = [measure.NumOperations]measure.Histogram{}
	f.minuteStart = f.ioEnd
}
