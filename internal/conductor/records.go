package conductor

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/result"
)

// clientAttempt holds one client's reports about one attempt. Times are in the agent's clock.
type clientAttempt struct {
	progress decide.Progress
	// inherited is true if an earlier conductor loaded the attempt.
	inherited bool
	failed    *decide.Failure
	// failedSince is the time at which the conductor learned that the attempt had failed.
	failedSince time.Time
	released    int64
	// clock is the estimate of the agent's clock from the start of the attempt.
	clock   measure.ClockOffset
	samples samples
	running running
	notices []*agentapi.Notice
	// dropped counts the notices that are not kept; see maxNotices.
	dropped int
	ended   *agentapi.Ended
	usage   *result.Usage
	// implausible describes the first implausible value in the client's records.
	implausible error
	// kept is the number of bytes charged to the budget for the attempt. working is the number of bytes that the
	// samples of the attempt will need while a result is computed.
	kept, working int
	// occurred is true for each kind of operation that occurs in the samples.
	occurred [measure.NumOperations]bool
}

// partBytes is the approximate size of a clientAttempt in memory, in bytes.
const partBytes = 640

// rank lists the values of progress in ascending order. advance uses it to ignore a late report that would move an
// attempt backwards.
var rank = []decide.Progress{"", decide.Loading, decide.Loaded, decide.Running, decide.Refused, decide.Ended}

// clientAttempt returns the client's record of an attempt, and creates it if needed. Callers hold mu.
func (c *client) clientAttempt(attempt decide.Attempt) *clientAttempt {
	found := c.attempts[attempt]
	if found == nil {
		found = &clientAttempt{clock: c.offset}
		c.attempts[attempt] = found
		c.keep(found, partBytes+len(attempt.Step))
	}
	return found
}

// keep charges memory to an attempt and to the budget of its client. Callers hold mu.
func (c *client) keep(p *clientAttempt, bytes int) {
	p.kept += bytes
	c.budget.add(bytes)
}

// remove discards everything that the client has reported about an attempt. Callers hold mu.
func (c *client) remove(attempt decide.Attempt) {
	if p := c.attempts[attempt]; p != nil {
		c.budget.add(-p.kept)
		c.working.add(-p.working)
		delete(c.attempts, attempt)
	}
}

// reduce drops all records of an attempt except its progress. Callers hold mu.
func (c *client) reduce(attempt decide.Attempt, progress decide.Progress) {
	c.remove(attempt)
	c.clientAttempt(attempt).progress = progress
}

// reduceEarlier drops all records of earlier attempts of the same step, except their progress.
func (c *client) reduceEarlier(newest decide.Attempt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for attempt, p := range c.attempts {
		if attempt.Step == newest.Step && attempt.Number < newest.Number {
			c.reduce(attempt, p.progress)
		}
	}
}

// advance records the progress of an attempt. Callers hold mu.
func (c *client) advance(attempt decide.Attempt, progress decide.Progress) {
	if p := c.clientAttempt(attempt); slices.Index(rank, progress) > slices.Index(rank, p.progress) {
		p.progress = progress
	}
}

// progress is like advance, but acquires mu.
func (c *client) progress(attempt decide.Attempt, progress decide.Progress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance(attempt, progress)
}

// forget is like remove, but acquires mu.
func (c *client) forget(attempt decide.Attempt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(attempt)
}

// take adds a record of the agent's log to the client's reports. It returns an error if the log cannot come from a
// correct agent.
func (c *client) take(record *agentapi.Record) error {
	news, err := c.read(record)
	// Do not hold a client's lock while enforcing a budget, because any client may be dropped to free memory.
	c.budget.enforce()
	c.working.enforce()
	if news {
		c.owner.notify()
	} else {
		c.owner.notifySoon()
	}
	return err
}

// read adds a record to the client's reports. news is false if the record contains only samples or latencies.
func (c *client) read(record *agentapi.Record) (news bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return true, nil // ignore the record: the client is lost, and its earlier reports may have been dropped
	}
	switch sequence := record.GetSequence(); {
	case sequence <= c.seen:
		return false, nil
	case sequence != c.seen+1:
		return true, fmt.Errorf("the agent's log skips from record %d to %d", c.seen, sequence)
	}
	c.seen = record.GetSequence()
	attempt := attemptOf(record.GetStep())
	if kept := c.owner.requested.of(c.key, attempt); kept != unrequested {
		c.readEntry(attempt, record, kept == current)
	}
	before := c.connection
	c.readyWhenRead()
	return c.connection != before || record.GetSample() == nil && record.GetLatencyMinute() == nil, nil
}

// readEntry adds a record of an attempt. If the attempt is not current, it keeps only the totals and, until the attempt
// ends, the progress. Callers hold mu.
func (c *client) readEntry(attempt decide.Attempt, record *agentapi.Record, current bool) {
	p := c.clientAttempt(attempt)
	switch entry := record.GetEntry().(type) {
	case *agentapi.Record_Started:
		p.released = entry.Started.GetReleasedNanoseconds()
		p.clock = c.offset
		c.advance(attempt, decide.Running)
	case *agentapi.Record_Sample:
		if err := c.takeSample(attempt, p, entry.Sample, current); err != nil {
			p.noteImplausible(err)
		}
	case *agentapi.Record_LatencyMinute:
		if err := c.takeLatencies(attempt, p, entry.LatencyMinute, current); err != nil {
			p.noteImplausible(err)
		}
	case *agentapi.Record_Notice:
		if current {
			c.takeNotice(p, entry.Notice, maxNotices)
		}
	case *agentapi.Record_Ended:
		if current {
			c.takeEnded(attempt, p, entry.Ended)
		} else {
			// Nothing waits for this attempt any more, so discard it, as forget does.
			c.remove(attempt)
		}
	}
}

// maxAhead limits the time by which the end of a report may lie in the future. It only bounds memory, so it can be
// generous: a report that claims to span years would need memory for every minute.
const maxAhead = time.Hour

// plausible returns an error if start is more than maxMinutes in the past, or if end is more than maxAhead in the
// future. Both are times of the agent's clock; the caller has checked that they are within maxInstant.
func (c *client) plausible(what string, start, end int64) error {
	now := c.owner.Reference.Now()
	first, last := now.Add(-time.Duration(maxMinutes)*time.Minute).UnixNano(), now.Add(maxAhead).UnixNano()
	if c.offset.ToLocal(start) < first || c.offset.ToLocal(end) > last {
		return fmt.Errorf("%s: the interval from %d to %d ns is outside the run", what, start, end)
	}
	return nil
}

func (c *client) takeSample(attempt decide.Attempt, p *clientAttempt, from *agentapi.Sample, keep bool) error {
	sample, err := sampleOf(from)
	if err == nil {
		err = c.plausible("invalid sample", sample.StartNanoseconds, sample.EndNanoseconds)
	}
	if err != nil {
		return err
	}
	before := int64(0)
	if last := &p.running.newest; last.EndNanoseconds != 0 && last.WarmUp == sample.WarmUp {
		before = last.EndNanoseconds
	}
	if !time.Unix(0, c.offset.ToLocal(sample.EndNanoseconds)).Before(c.owner.options.CountSince) {
		c.owner.totals.add(attempt.Step, c.key.Target, &sample, before)
	}
	p.running.follow(&sample, from)
	if keep {
		c.keep(p, p.samples.add(&sample))
		c.workOn(p, &sample)
	}
	return nil
}

// workOn updates the estimate of the memory needed to compute a result from the samples of an attempt. It is called
// after each sample that is added.
func (c *client) workOn(p *clientAttempt, sample *measure.Sample) {
	operations := 0
	for operation, counter := range sample.Counters {
		p.occurred[operation] = p.occurred[operation] || counter != (measure.Counter{})
		if p.occurred[operation] {
			operations++
		}
	}
	working := measure.SeriesBytes(p.samples.count, operations)
	c.working.add(working - p.working)
	p.working = working
}

func (c *client) takeLatencies(attempt decide.Attempt, p *clientAttempt, from *agentapi.LatencyMinute, keep bool) error {
	if p.released == 0 {
		return nil // without the start of the load, the record cannot be assigned to a minute of the step
	}
	record, err := decodeLatencies(p.released, p.clock, from)
	if err == nil {
		err = c.plausible("invalid latencies", from.GetStartNanoseconds(), from.GetEndNanoseconds())
	}
	if err != nil {
		return err
	}
	target := c.key.Target
	if keep {
		if err := c.owner.latencies.add(latencyKey{attempt: attempt, target: target}, c.budget, record); err != nil {
			return err
		}
	}
	c.owner.totals.addLatency(attempt, target, record)
	return nil
}

// noteImplausible records the first implausible value.
func (p *clientAttempt) noteImplausible(err error) {
	if p.implausible == nil {
		p.implausible = err
	}
}

// takeNotice keeps a notice. If the attempt already has `most` notices, takeNotice only counts it.
func (c *client) takeNotice(p *clientAttempt, notice *agentapi.Notice, most int) {
	if len(p.notices) >= most {
		p.dropped++
		return
	}
	kept := &agentapi.Notice{
		Warning: clean(notice.GetWarning(), maxVersionLength), Message: clean(notice.GetMessage(), maxMessageLength)}
	p.notices = append(p.notices, kept)
	c.keep(p, keptBytes(kept))
}

// takeEnded stores the record of an attempt's end. An attempt ends only once, so a second such record is implausible.
func (c *client) takeEnded(attempt decide.Attempt, p *clientAttempt, ended *agentapi.Ended) {
	if p.ended != nil {
		p.noteImplausible(errors.New("the agent reported the end of the step twice"))
		return
	}
	// Keep these notices even if maxNotices were kept during the step, because they can disqualify the result.
	for _, notice := range ended.GetNotices() {
		c.takeNotice(p, notice, 2*maxNotices)
	}
	p.ended = &agentapi.Ended{
		Outcome:            ended.GetOutcome(),
		Reason:             word(ended.GetReason(), "ToolFailed"),
		Message:            clean(ended.GetMessage(), maxMessageLength),
		IoStartNanoseconds: ended.GetIoStartNanoseconds(),
		IoEndNanoseconds:   ended.GetIoEndNanoseconds(),
		Operations:         ended.GetOperations(),
		ToolVersion:        clean(ended.GetToolVersion(), maxVersionLength),
		ToolMessages:       cleanLines(ended.GetToolMessages(), maxToolMessages),
		Cpu:                ended.GetCpu(),
		Like:               ended.GetLike(),
		UnwrittenBytes:     ended.GetUnwrittenBytes(),
	}
	err := checkOperations(p.ended.GetOperations())
	if err != nil {
		p.noteImplausible(err)
		p.ended.Operations = nil
	}
	if p.usage, err = usageOf(ended.GetUsage()); err != nil {
		p.noteImplausible(err)
	}
	if p.ended.Mpi, err = jobResult(ended.GetMpi()); err != nil {
		p.noteImplausible(err)
	}
	if p.ended.Command, err = commandResult(ended.GetCommand()); err != nil {
		p.noteImplausible(err)
	}
	c.keep(p, keptBytes(p.ended))
	switch p.ended.GetOutcome() {
	case agentapi.Outcome_OUTCOME_COMPLETE, agentapi.Outcome_OUTCOME_STOPPED:
	case agentapi.Outcome_OUTCOME_FAILED, agentapi.Outcome_OUTCOME_UNSPECIFIED:
		if p.ended.GetReason() == "" {
			p.ended.Reason = "ToolFailed"
		}
		p.failed = &decide.Failure{Reason: p.ended.GetReason(), Message: p.ended.GetMessage()}
		p.failedSince = c.owner.Reference.Now()
	default:
		p.noteImplausible(fmt.Errorf("the agent reported the unknown outcome %d", p.ended.GetOutcome()))
	}
	c.advance(attempt, decide.Ended)
}

// stopped reports whether an attempt ended early because its tool was stopped.
func (p *clientAttempt) stopped() bool {
	return p.ended.GetOutcome() == agentapi.Outcome_OUTCOME_STOPPED
}

// agentTerminated reports whether an attempt ended early because its agent was terminated.
func (p *clientAttempt) agentTerminated() bool {
	return p.stopped() && p.ended.GetReason() == agentapi.ReasonLeaving
}

// maxInstant limits times of the agents' clocks, so that neither the difference between two times nor the conversion of
// a time to another clock can overflow; see measure.EstimateClock.
const maxInstant = measure.MaxInstant / 2

// sampleOf checks and converts a sample. The times remain in the agent's clock.
func sampleOf(from *agentapi.Sample) (measure.Sample, error) {
	sample := measure.Sample{
		StartNanoseconds: from.GetStartNanoseconds(), EndNanoseconds: from.GetEndNanoseconds(), WarmUp: from.GetWarmUp()}
	if sample.StartNanoseconds < -maxInstant || sample.EndNanoseconds > maxInstant || sample.EndNanoseconds < sample.StartNanoseconds {
		return sample, fmt.Errorf("invalid sample: %d to %d ns is not a valid interval", sample.StartNanoseconds, sample.EndNanoseconds)
	}
	for _, count := range from.GetCounts() {
		if count.GetOperation() >= measure.NumOperations {
			return sample, fmt.Errorf("invalid sample: operation %d is out of range: must be below %d", count.GetOperation(), measure.NumOperations)
		}
		counter := &sample.Counters[count.GetOperation()]
		if *counter != (measure.Counter{}) {
			return sample, fmt.Errorf("invalid sample: duplicate operation %d", count.GetOperation())
		}
		*counter = measure.Counter{Bytes: count.GetBytes(), Operations: count.GetOperations()}
	}
	return sample, nil
}
