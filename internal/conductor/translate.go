package conductor

import (
	"errors"
	"fmt"
	"time"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/result"
)

// reasonBadResult is the failure reason of a client with implausible records.
const reasonBadResult = "BadResult"

// result returns a client's reports about an attempt, with all times converted to the reference clock. Because clocks
// drift, the conversion combines the current estimate of the agent's clock with the estimate from the start of the
// attempt.
func (c *client) result(attempt decide.Attempt) (result.Client, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.attempts[attempt]
	if p == nil {
		return result.Client{}, false
	}
	clock := measure.CombineClocks(p.clock, c.offset)
	host := c.description.GetHost()
	made := result.Client{
		Target:           c.key.Target,
		Index:            c.key.Index,
		Released:         instant(clock, p.released),
		ClockUncertainty: time.Duration(clock.UncertaintyNanoseconds),
		Machine:          host.GetBootId(),
		MemoryBytes:      host.GetMemoryBytes(),
		MachineCPUMilli:  int64(host.GetCpus()) * 1000,
	}
	if p.samples.count > 0 {
		made.Samples = translated(p.samples.snapshot(), clock)
	}
	made.Notices = p.warnings()
	if p.failed != nil {
		made.Failure, made.FailureMessage = p.failed.Reason, p.failed.Message
	}
	if p.ended != nil {
		p.end(&made, clock)
	} else if made.Failure == "" {
		made.Failure, made.FailureMessage = c.reason, c.message
	}
	if p.implausible != nil && made.Failure == "" {
		made.Failure, made.FailureMessage = reasonBadResult, clean(p.implausible.Error(), maxMessageLength)
	}
	return made, true
}

func (p *clientAttempt) warnings() []result.Notice {
	var all []result.Notice
	for _, notice := range p.notices {
		kind, message := warning(notice)
		all = append(all, result.Notice{Warning: string(kind), Message: message})
	}
	if p.dropped > 0 {
		all = append(all, result.Notice{Warning: "ToolMessages", Message: fmt.Sprintf("and %d more warnings", p.dropped)})
	}
	return all
}

// instant converts an agent's time to the reference clock; 0 converts to the zero time.
func instant(clock measure.RemoteClock, remote int64) time.Time {
	if remote == 0 {
		return time.Time{}
	}
	return time.Unix(0, clock.ToLocal(remote)).UTC()
}

// end adds the client's final report on the attempt to the result.
func (p *clientAttempt) end(to *result.Client, clock measure.RemoteClock) {
	ended := p.ended
	to.Ended = true
	if to.Stopped = p.stopped(); to.Stopped {
		to.StopMessage = ended.GetMessage()
	}
	if from, until := ended.GetIoStartNanoseconds(), ended.GetIoEndNanoseconds(); from < -maxInstant || until > maxInstant || until < from {
		p.noteImplausible(fmt.Errorf("invalid result: I/O from %d to %d ns is not a valid interval", from, until))
	} else {
		to.IOStart, to.IOEnd = instant(clock, from), instant(clock, until)
	}
	to.ToolVersion, to.Output = ended.GetToolVersion(), ended.GetToolMessages()
	to.UnwrittenBytes = ended.GetUnwrittenBytes()
	to.Usage = p.usage
	to.Like = dataSampleOf(ended.GetLike())
	cpu := ended.GetCpu()
	to.CPU = result.CPU{
		Busy:             time.Duration(max(cpu.GetBusyNanoseconds(), 0)),
		Wall:             time.Duration(max(cpu.GetWallNanoseconds(), 0)),
		LimitMilli:       max(cpu.GetLimitMilli(), 0),
		Periods:          cpu.GetPeriods(),
		ThrottledPeriods: min(cpu.GetThrottledPeriods(), cpu.GetPeriods()),
		Throttled:        time.Duration(max(cpu.GetThrottledNanoseconds(), 0)),
	}
	for _, reported := range ended.GetOperations() {
		if err := addOperation(to, reported); err != nil {
			p.noteImplausible(err)
		}
	}
	if err := addJob(to, ended.GetMpi(), clock); err != nil {
		p.noteImplausible(err)
	}
	to.Command = commandOf(ended.GetCommand())
}

// checkOperations returns an error if operations cannot be decoded. They remain encoded and are decoded again when
// needed, because encoded histograms take less memory.
func checkOperations(reported []*agentapi.OperationResult) error {
	if len(reported) > measure.NumOperations {
		return fmt.Errorf("invalid result: too many operations (%d): the limit is %d", len(reported), measure.NumOperations)
	}
	var scratch result.Client
	for _, one := range reported {
		if err := addOperation(&scratch, one); err != nil {
			return err
		}
	}
	return nil
}

// addOperation checks and decodes one operation of a result.
func addOperation(to *result.Client, reported *agentapi.OperationResult) error {
	if reported.GetOperation() >= measure.NumOperations {
		return fmt.Errorf("invalid result: operation %d is out of range: must be below %d", reported.GetOperation(), measure.NumOperations)
	}
	name := measure.Operation(reported.GetOperation())
	operation := &to.Operations[name]
	if operation.Counter != (measure.Counter{}) || operation.Latency.Count > 0 {
		return fmt.Errorf("invalid result: duplicate %v", name)
	}
	if reported.GetSubmissionMeanNanoseconds() < 0 {
		return fmt.Errorf("invalid result: submission latency of %v is %d ns", name, reported.GetSubmissionMeanNanoseconds())
	}
	var latency, completion measure.Latency
	if err := errors.Join(latency.UnmarshalBinary(reported.GetLatency()), completion.UnmarshalBinary(reported.GetCompletionLatency())); err != nil {
		return fmt.Errorf("%v: %w", name, err)
	}
	operation.Counter = measure.Counter{Bytes: reported.GetBytes(), Operations: reported.GetOperations()}
	operation.SubmissionMeanNanoseconds = reported.GetSubmissionMeanNanoseconds()
	operation.Latency, operation.Completion = latency, completion
	return nil
}
