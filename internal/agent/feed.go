package agent

import (
	"io"
	"os"
	"syscall"
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

	histograms  [measure.NumOperations]measure.Histogram
	minuteStart int64
	ioEnd       int64
	problems    []string
}

func newFeed(s *step) *feed {
	clock := s.agent.clock
	tool := s.request.GetFio()
	return &feed{step: s, sampler: fio.NewSampler(fio.SamplerOptions{
		WarmUp: time.Duration(tool.GetWarmUpNanoseconds()),
		Jobs:   int(tool.GetJobs()),
		// Read together each time, so that a wall clock that was set in between moves one
		// sample and not all.
		ToClock: func(wall int64) int64 { return wall - clock.Wall() + clock.Monotonic() },
	})}
}

// read returns at the end of the output.
func (f *feed) read(output io.Reader) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := output.Read(buffer)
		_, _ = f.stream.Write(buffer[:n])
		for _, document := range f.stream.Documents() {
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
					Operation: uint32(operation), Bytes: counter.Bytes, Operations: counter.Operations}) //nolint:gosec // Of four.
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
			Operation: uint32(operation), Histogram: encoded}) //nolint:gosec // Of four.
	}
	if len(record.GetHistograms()) > 0 {
		f.step.write(&agentapi.Record{Entry: &agentapi.Record_LatencyMinute{LatencyMinute: record}})
	}
	f.histograms = [measure.NumOperations]measure.Histogram{}
	f.minuteStart = f.ioEnd
}

// result judges the run by all that is known of it. The output must have been read to its end and
// the process waited for.
func (f *feed) result(state *os.ProcessState, stderr string, watch *supervision) *agentapi.Ended {
	tool := f.step.request.GetFio()
	judged := fio.Final(f.stream.Close(), exitOf(state), stderr, fio.Expectation{
		MeasuredMilliseconds: time.Duration(tool.GetDurationNanoseconds()).Milliseconds(),
		MaxOutstanding:       tool.GetMaxOutstanding(),
		WrittenBytes:         tool.GetWrittenBytes(),
	})
	ended := &agentapi.Ended{
		Outcome:      outcomes[judged.Outcome],
		Reason:       string(judged.Failure),
		Message:      judged.Message,
		ExitCode:     int64(state.ExitCode()),
		ToolMessages: judged.ToolMessages,
	}
	if watch.hung != "" {
		ended.Outcome, ended.Reason = agentapi.Outcome_OUTCOME_FAILED, "Hung"
		ended.Message = "fio was killed: " + watch.hung
	} else if watch.ending != "" && judged.Outcome == fio.Stopped {
		ended.Reason, ended.Message = "Stopped", watch.ending
		if watch.overdue && tool.GetDurationNanoseconds() == 0 {
			// Half a layout is no layout.
			ended.Outcome, ended.Reason = agentapi.Outcome_OUTCOME_FAILED, "DeadlineExceeded"
		}
	}
	for _, warning := range judged.Warnings {
		ended.Notices = append(ended.Notices, &agentapi.Notice{Warning: warningTypes[warning.Kind], Message: warning.Message})
	}
	for _, problem := range f.problems {
		ended.Notices = append(ended.Notices, &agentapi.Notice{Warning: "SamplesLost", Message: problem})
	}
	if start, ok := f.sampler.MeasuredSince(); ok {
		ended.IoStartNanoseconds, ended.IoEndNanoseconds = start, max(f.ioEnd, start)
	}
	if judged.Snapshot != nil {
		ended.ToolVersion = judged.Snapshot.Version
		f.totals(ended, judged.Snapshot)
	}
	return ended
}

// totals adds what was done of each operation: bytes and operations that completed.
func (f *feed) totals(ended *agentapi.Ended, snapshot *fio.Snapshot) {
	for operation := range snapshot.Operations {
		total := &snapshot.Operations[operation]
		if total.Total.Count == 0 && total.Bytes == 0 {
			continue
		}
		result := &agentapi.OperationResult{
			Operation:                 uint32(operation), //nolint:gosec // Of four.
			Bytes:                     total.Bytes,
			Operations:                total.Total.Count,
			SubmissionMeanNanoseconds: int64(total.SubmissionMeanNanoseconds),
		}
		var err error
		if result.Latency, err = total.Total.MarshalBinary(); err == nil {
			result.CompletionLatency, err = total.Completion.MarshalBinary()
		}
		if err != nil {
			ended.Outcome, ended.Reason, ended.Message = agentapi.Outcome_OUTCOME_FAILED, "InvalidOutput", err.Error()
			return
		}
		ended.Operations = append(ended.Operations, result)
	}
}

var outcomes = map[fio.Outcome]agentapi.Outcome{
	fio.Complete: agentapi.Outcome_OUTCOME_COMPLETE,
	fio.Stopped:  agentapi.Outcome_OUTCOME_STOPPED,
	fio.Failed:   agentapi.Outcome_OUTCOME_FAILED,
}

// warningTypes are the API's words for the engine's warnings.
var warningTypes = map[fio.WarningKind]string{
	fio.WarnToolErrors:      "ToolError",
	fio.WarnToolMessages:    "ToolMessages",
	fio.WarnDamagedOutput:   "SamplesLost",
	fio.WarnCountsDisagree:  "BytesUncertain",
	fio.WarnNoBins:          "TooFewSamples",
	fio.WarnShortOperations: "ToolError",
	fio.WarnRuntimeWrong:    "ToolMessages",
}

func exitOf(state *os.ProcessState) fio.Exit {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return fio.Exit{Signal: status.Signal()}
	}
	return fio.Exit{Code: state.ExitCode()}
}
