package fio

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/engine/fio"
	"github.com/storagebench/storagebench/internal/measure"
)

// result assembles the result of the run. Call it after reap. state is the result of reap. It is nil if the process did
// not exit in time.
func (f *feed) result(state *os.ProcessState, stderr string, watch *supervision) *agentapi.Ended {
	load := f.step.Request.GetFio()
	exit := exitOf(tool.ExitOf(state))
	if watch.broken {
		// Report fio's own message about the job as the cause, not the kill that followed it.
		exit = fio.Exit{Code: 1}
	}
	judged := fio.Final(f.stream.Close(), exit, stderr, fio.Expectation{
		MeasuredMilliseconds: time.Duration(load.GetDurationNanoseconds()).Milliseconds(),
		WarmUpMilliseconds:   time.Duration(load.GetWarmUpNanoseconds()).Milliseconds(),
		MaxOutstanding:       load.GetMaxOutstanding(),
		Jobs:                 int(load.GetJobs()),
		WrittenBytes:         load.GetWrittenBytes(),
		Operations:           load.GetOperations(),
	})
	ended := &agentapi.Ended{
		Outcome:      outcomes[judged.Outcome],
		Reason:       string(judged.Failure),
		Message:      judged.Message,
		ExitCode:     int64(exit.Code),
		ToolMessages: judged.ToolMessages,
	}
	watch.amend(ended, judged.Outcome, exit)
	for _, warning := range judged.Warnings {
		tool.Warn(ended, warningTypes[warning.Kind], "%s", warning.Message)
	}
	for _, problem := range f.problems {
		tool.Warn(ended, "SamplesLost", "%s", problem)
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

// amend adds to a result the reason why fio was stopped or killed. fio's own output does not contain this reason.
func (w *supervision) amend(ended *agentapi.Ended, judged fio.Outcome, exit fio.Exit) {
	switch {
	case w.hung != "":
		tool.Fail(ended, tool.ReasonHung, "fio was killed: %s", w.hung)
		return
	case w.ending == "":
		return
	case judged == fio.Stopped:
		ended.Reason, ended.Message = tool.ReasonStopped, w.ending
	case w.early || exit.Signal == syscall.SIGINT:
		// fio was asked to stop while it was starting or reading its job, so it printed no result.
		ended.Outcome, ended.Reason = agentapi.Outcome_OUTCOME_STOPPED, tool.ReasonStopped
		ended.Message = w.ending + "; fio had measured nothing yet"
	default:
		return
	}
	if w.overdue && w.run.step.Request.GetFio().GetDurationNanoseconds() == 0 {
		// A step with a fixed amount of work, such as a layout, is useless if it is incomplete, so the step has failed.
		ended.Outcome, ended.Reason = agentapi.Outcome_OUTCOME_FAILED, tool.ReasonDeadline
	}
}

// totals adds the completed bytes and the number of operations of each kind to the result. After a warm-up the bytes
// may include a few operations without latencies: fio counts the bytes of the whole batch of completions in which
// ramp_time ends, but records latencies only for later completions. The excess is less than the queue depth of each
// job.
func (f *feed) totals(ended *agentapi.Ended, snapshot *fio.Snapshot) {
	for operation := range snapshot.Operations {
		total := &snapshot.Operations[operation]
		if total.Total.Count == 0 && total.Bytes == 0 {
			continue
		}
		result := &agentapi.OperationResult{
			Operation:                 uint32(operation),
			Bytes:                     total.Bytes,
			Operations:                total.Total.Count,
			SubmissionMeanNanoseconds: int64(total.SubmissionMeanNanoseconds),
		}
		settled, err := settledLatency(&total.Total, &f.settling[operation])
		if err == nil {
			result.Latency, err = settled.MarshalBinary()
		}
		if err == nil {
			result.CompletionLatency, err = total.Completion.MarshalBinary()
		}
		if err != nil {
			tool.Fail(ended, tool.ReasonInvalid, "%s", err)
			return
		}
		ended.Operations = append(ended.Operations, result)
	}
}

// settledLatency returns the latencies recorded after the load had settled. It subtracts `settling`, the latencies
// recorded before the load had settled, from `all`, the latencies of the whole measured time.
func settledLatency(all *measure.Latency, settling *measure.Histogram) (measure.Latency, error) {
	if settling.Count() == 0 {
		return *all, nil
	}
	settled, err := all.Without(settling)
	if err != nil {
		return measure.Latency{}, fmt.Errorf("exclude the settling time from the latencies: %w", err)
	}
	return settled, nil
}

var outcomes = map[fio.Outcome]agentapi.Outcome{
	fio.Complete: agentapi.Outcome_OUTCOME_COMPLETE,
	fio.Stopped:  agentapi.Outcome_OUTCOME_STOPPED,
	fio.Failed:   agentapi.Outcome_OUTCOME_FAILED,
}

// warningTypes maps the engine's warnings to the API's.
var warningTypes = map[fio.WarningKind]string{
	fio.WarnToolErrors:      "ToolError",
	fio.WarnToolMessages:    "ToolMessages",
	fio.WarnDamagedOutput:   "SamplesLost",
	fio.WarnCountsDisagree:  "BytesUncertain",
	fio.WarnNoBins:          "TooFewSamples",
	fio.WarnShortOperations: "ToolError",
}

func exitOf(exit *tool.Exit) fio.Exit {
	code, signal := exit.Result()
	return fio.Exit{Code: code, Signal: signal}
}
