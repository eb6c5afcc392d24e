package conductor

import (
	"slices"
	"time"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/result"
)

// part is one client's part in one attempt. Instants are the agent's.
type part struct {
	progress decide.Progress
	failed   *decide.Failure
	released int64
	samples  []*agentapi.Sample
	notices  []*agentapi.Notice
	ended    *agentapi.Ended
}

// rank orders progress: news that come late never set a part back.
var rank = []decide.Progress{"", decide.Loading, decide.Loaded, decide.Running, decide.Refused, decide.Ended}

// part finds or makes the part of an attempt. Callers hold mu.
func (c *client) part(attempt decide.Attempt) *part {
	if c.attempts[attempt] == nil {
		c.attempts[attempt] = &part{}
	}
	return c.attempts[attempt]
}

// progress notes how far an attempt is.
func (c *client) progress(attempt decide.Attempt, progress decide.Progress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.part(attempt); slices.Index(rank, progress) > slices.Index(rank, p.progress) {
		p.progress = progress
	}
}

func (c *client) forget(attempt decide.Attempt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.attempts, attempt)
}

// take adds a record of the agent's log to what is known.
func (c *client) take(record *agentapi.Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reached = time.Now()
	if record.GetSequence() <= c.seen {
		return
	}
	c.seen = record.GetSequence()
	p := c.part(attemptOf(record.GetStep()))
	switch entry := record.GetEntry().(type) {
	case *agentapi.Record_Started:
		p.released = entry.Started.GetReleasedNanoseconds()
		p.progress = decide.Running
	case *agentapi.Record_Sample:
		p.samples = append(p.samples, entry.Sample)
	case *agentapi.Record_Notice:
		p.notices = append(p.notices, entry.Notice)
	case *agentapi.Record_Ended:
		p.ended = entry.Ended
		p.progress = decide.Ended
		if entry.Ended.GetOutcome() == agentapi.Outcome_OUTCOME_FAILED {
			p.failed = &decide.Failure{Reason: entry.Ended.GetReason(), Message: entry.Ended.GetMessage()}
		}
	}
	c.owner.notify()
}

// result translates a part into the reference clock.
func (c *client) result(attempt decide.Attempt) (result.Client, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.attempts[attempt]
	if p == nil {
		return result.Client{}, false
	}
	translated := result.Client{
		Target:           c.endpoint.Key.Target,
		Index:            c.endpoint.Key.Index,
		Released:         c.instant(p.released),
		ClockUncertainty: time.Duration(c.offset.UncertaintyNanoseconds),
		Machine:          c.description.GetHost().GetBootId(),
		MemoryBytes:      c.description.GetHost().GetMemoryBytes(),
		MachineCPUMilli:  int64(c.description.GetHost().GetCpus()) * 1000,
	}
	for _, sample := range p.samples {
		translated.Samples = append(translated.Samples, c.sample(sample))
	}
	for _, notice := range slices.Concat(p.notices, p.ended.GetNotices()) {
		translated.Notices = append(translated.Notices,
			result.Notice{Warning: notice.GetWarning(), Message: notice.GetMessage()})
	}
	if p.failed != nil {
		translated.Failure, translated.FailureMessage = p.failed.Reason, p.failed.Message
	}
	if p.ended != nil {
		c.end(&translated, p.ended)
	} else if translated.Failure == "" {
		translated.Failure, translated.FailureMessage = c.reason, c.message
	}
	return translated, true
}

// end adds what a client reported at its end.
func (c *client) end(to *result.Client, ended *agentapi.Ended) {
	to.Ended = true
	if to.Stopped = ended.GetOutcome() == agentapi.Outcome_OUTCOME_STOPPED; to.Stopped {
		to.StopMessage = ended.GetMessage()
	}
	to.IOStart, to.IOEnd = c.instant(ended.GetIoStartNanoseconds()), c.instant(ended.GetIoEndNanoseconds())
	to.ToolVersion, to.ToolMessages = ended.GetToolVersion(), ended.GetToolMessages()
	to.UnwrittenBytes = ended.GetUnwrittenBytes()
	to.CPU = result.CPU{
		Busy:             time.Duration(ended.GetCpu().GetBusyNanoseconds()),
		Wall:             time.Duration(ended.GetCpu().GetWallNanoseconds()),
		LimitMilli:       ended.GetCpu().GetLimitMilli(),
		Periods:          ended.GetCpu().GetPeriods(),
		ThrottledPeriods: ended.GetCpu().GetThrottledPeriods(),
		Throttled:        time.Duration(ended.GetCpu().GetThrottledNanoseconds()),
	}
	for _, reported := range ended.GetOperations() {
		if err := addOperation(to, reported); err != nil && to.Failure == "" {
			to.Failure, to.FailureMessage = "BadResult", err.Error()
		}
	}
}

// addOperation decodes one operation of a result. An agent's bytes are checked, not trusted.
func addOperation(to *result.Client, reported *agentapi.OperationResult) error {
	index := measure.Operation(reported.GetOperation()) //nolint:gosec // The range is checked by the next call.
	if _, err := index.MarshalText(); err != nil {
		return err
	}
	operation := &to.Operations[index]
	operation.Counter = measure.Counter{Bytes: reported.GetBytes(), Operations: reported.GetOperations()}
	operation.SubmissionMeanNanoseconds = reported.GetSubmissionMeanNanoseconds()
	if err := operation.Latency.UnmarshalBinary(reported.GetLatency()); err != nil {
		return err
	}
	return operation.Completion.UnmarshalBinary(reported.GetCompletionLatency())
}

// sample translates a sample into the reference clock. Counts of unknown operations are dropped.
func (c *client) sample(from *agentapi.Sample) measure.Sample {
	sample := measure.Sample{
		StartNanoseconds: c.offset.ToLocal(from.GetStartNanoseconds()),
		EndNanoseconds:   c.offset.ToLocal(from.GetEndNanoseconds()),
		WarmUp:           from.GetWarmUp(),
	}
	for _, count := range from.GetCounts() {
		if count.GetOperation() < measure.NumOperations {
			sample.Counters[count.GetOperation()] = measure.Counter{
				Bytes: count.GetBytes(), Operations: count.GetOperations()}
		}
	}
	return sample
}

// Rate is what all clients together do at present in an attempt: bytes and operations a second,
// each by its newest sample. It is for showing, not for results.
func (c *Conductor) Rate(attempt decide.Attempt) (bytesPerSecond, iops float64) {
	for _, client := range c.all() {
		client.mu.Lock()
		if p := client.attempts[attempt]; p != nil && len(p.samples) > 0 {
			newest := p.samples[len(p.samples)-1]
			if seconds := float64(newest.GetEndNanoseconds()-newest.GetStartNanoseconds()) / 1e9; seconds > 0 {
				for _, count := range newest.GetCounts() {
					bytesPerSecond += float64(count.GetBytes()) / seconds
					iops += float64(count.GetOperations()) / seconds
				}
			}
		}
		client.mu.Unlock()
	}
	return bytesPerSecond, iops
}
