package agent

import (
	"io"
	"sync/atomic"
	"time"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/engine/fio"
	"github.com/storagebench/storagebench/internal/measure"
)

// minute is how much time one latency record covers.
const minute = time.Minute

// feed reads fio's output as it comes and writes samples to the log.
type feed struct {
	step    *step
	stream  fio.Stream
	sampler *fio.Sampler
	wall    evenWall
	// documents were read so far.
	documents atomic.Int64

	histograms  [measure.NumOperations]measure.Histogram
	minuteStart int64
	ioEnd       int64
	problems    []string
}

func newFeed(s *step) *feed {
	tool := s.request.GetFio()
	wall := newEvenWall(s.agent.clock)
	return &feed{step: s, wall: wall, sampler: fio.NewSampler(fio.SamplerOptions{
		WarmUp:  time.Duration(tool.GetWarmUpNanoseconds()),
		Jobs:    int(tool.GetJobs()),
		ToClock: wall.monotonic,
	})}
}

// read returns at the end of the output.
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

// problem keeps the first few things that were wrong with the samples; the result tells them.
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
					Operation: uint32(operation), Bytes: counter.Bytes, Operations: counter.Operations})
			}
		}
		f.step.write(&agentapi.Record{Entry: &agentapi.Record_Sample{Sample: sample}})
		if delta.Sample.WarmUp {
			continue
		}
		f.ioEnd = delta.Sample.EndNanoseconds
		f.collect(delta)
	}
}

// collect adds a delta's latencies to the minute's.
func (f *feed) collect(delta fio.Delta) {
	if f.minuteStart == 0 {
		f.minuteStart = delta.Sample.StartNanoseconds
	}
	for operation := range delta.Histograms {
		f.histograms[operation].Merge(&delta.Histograms[operation])
	}
	if time.Duration(delta.Sample.EndNanoseconds-f.minuteStart) >= minute {
		f.flush()
	}
}

// flush writes the minute's latencies.
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
		f.step.write(&agentapi.Record{Entry: &agentapi.Record_LatencyMinute{LatencyMinute: record}})
	}
	f.histograms = [measure.NumOperations]measure.Histogram{}
	f.minuteStart = f.ioEnd
}
