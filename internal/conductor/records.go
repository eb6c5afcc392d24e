package conductor

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/result"
)

// part is one client's part in one attempt. Instants are the agent's.
type part struct {
	progress decide.Progress
	failed   *decide.Failure
	// failedSince is when that was learnt.
	failedSince time.Time
	released    int64
	// clock is how the agent's clock stood when the part was begun.
	clock   measure.ClockOffset
	samples []measure.Sample
	running running
	notices []*agentapi.Notice
	// dropped notices were too many.
	dropped int
	ended   *agentapi.Ended
	usage   *result.Usage
	// flaw is the first thing in its records that cannot be.
	flaw error
	kept int
}

// What parts and samples take of memory, about.
const (
	partBytes   = 512
	sampleBytes = 96
)

// rank orders progress: news that come late never set a part back.
var rank = []decide.Progress{"", decide.Loading, decide.Loaded, decide.Running, decide.Refused, decide.Ended}

// part finds or makes the part of an attempt. Callers hold mu.
func (c *client) part(attempt decide.Attempt) *part {
	found := c.attempts[attempt]
	if found == nil {
		found = &part{clock: c.offset}
		c.attempts[attempt] = found
		c.keep(found, partBytes+len(attempt.Step))
	}
	return found
}

// keep counts memory. Callers hold mu.
func (c *client) keep(p *part, bytes int) {
	p.kept += bytes
	c.kept += bytes
}

// withinBudget is an error when an agent has told more than anybody could want to know. Callers
// hold mu.
func (c *client) withinBudget() error {
	if c.kept > maxKeptBytes {
		return fmt.Errorf("the records of its agent take more than %d MiB", maxKeptBytes>>20)
	}
	return nil
}

// advance notes how far an attempt is. Callers hold mu.
func (c *client) advance(attempt decide.Attempt, progress decide.Progress) {
	if p := c.part(attempt); slices.Index(rank, progress) > slices.Index(rank, p.progress) {
		p.progress = progress
	}
}

// progress is advance for callers that do not hold mu.
func (c *client) progress(attempt decide.Attempt, progress decide.Progress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance(attempt, progress)
}

// forget drops an attempt.
func (c *client) forget(attempt decide.Attempt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.attempts[attempt]; p != nil {
		c.kept -= p.kept
		delete(c.attempts, attempt)
	}
}

// take adds a record of the agent's log to what is known. An error means that the log cannot be
// that of a good agent.
func (c *client) take(record *agentapi.Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch sequence := record.GetSequence(); {
	case sequence <= c.seen:
		return nil
	case sequence != c.seen+1:
		return fmt.Errorf("its log goes from record %d to %d", c.seen, sequence)
	}
	c.seen = record.GetSequence()
	attempt := attemptOf(record.GetStep())
	p := c.part(attempt)
	switch entry := record.GetEntry().(type) {
	case *agentapi.Record_Started:
		p.released = entry.Started.GetReleasedNanoseconds()
		p.clock = c.offset
		c.advance(attempt, decide.Running)
	case *agentapi.Record_Sample:
		c.takeSample(attempt, p, entry.Sample)
	case *agentapi.Record_LatencyMinute:
		key := latencyKey{attempt: attempt, target: c.endpoint.Key.Target}
		if err := errors.Join(c.owner.latencies.add(key, p.clock, p.released, entry.LatencyMinute),
			c.owner.totals.addLatency(attempt, key.target, p.clock, p.released, entry.LatencyMinute)); err != nil {
			p.damage(err)
		}
	case *agentapi.Record_Notice:
		c.takeNotice(p, entry.Notice)
	case *agentapi.Record_Ended:
		c.takeEnded(attempt, p, entry.Ended)
	}
	c.readyWhenRead()
	c.owner.notify()
	return c.withinBudget()
}

func (c *client) takeSample(attempt decide.Attempt, p *part, from *agentapi.Sample) {
	sample, err := sampleOf(from)
	if err != nil {
		p.damage(err)
		return
	}
	before := int64(0)
	if last := len(p.samples) - 1; last >= 0 && p.samples[last].WarmUp == sample.WarmUp {
		before = p.samples[last].EndNanoseconds
	}
	if !instant(c.offset, sample.EndNanoseconds).Before(c.owner.options.CountSince) {
		c.owner.totals.add(attempt.Step, c.endpoint.Key.Target, &sample, before)
	}
	p.samples = append(p.samples, sample)
	p.running.follow(&sample, from)
	c.keep(p, sampleBytes)
}

// damage keeps the first thing that was wrong.
func (p *part) damage(err error) {
	if p.flaw == nil {
		p.flaw = err
	}
}

func (c *client) takeNotice(p *part, notice *agentapi.Notice) {
	if len(p.notices) >= maxNotices {
		p.dropped++
		return
	}
	kept := &agentapi.Notice{
		Warning: clean(notice.GetWarning(), maxVersionLength), Message: clean(notice.GetMessage(), maxMessageLength)}
	p.notices = append(p.notices, kept)
	c.keep(p, partBytes+len(kept.GetMessage()))
}

// takeEnded keeps the first end; a part ends once.
func (c *client) takeEnded(attempt decide.Attempt, p *part, ended *agentapi.Ended) {
	if p.ended != nil {
		p.damage(errors.New("it ended twice"))
		return
	}
	for _, notice := range ended.GetNotices() {
		c.takeNotice(p, notice)
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
	if len(p.ended.GetOperations()) > maxResults {
		p.damage(fmt.Errorf("it reports %d operations", len(p.ended.GetOperations())))
		p.ended.Operations = nil
	}
	var err error
	if p.usage, err = usageOf(ended.GetUsage()); err != nil {
		p.damage(err)
	}
	if p.ended.Mpi, err = jobResult(ended.GetMpi()); err != nil {
		p.damage(err)
	}
	if p.ended.Command, err = commandResult(ended.GetCommand()); err != nil {
		p.damage(err)
	}
	c.keep(p, 2*proto.Size(p.ended))
	switch p.ended.GetOutcome() {
	case agentapi.Outcome_OUTCOME_COMPLETE, agentapi.Outcome_OUTCOME_STOPPED:
	case agentapi.Outcome_OUTCOME_FAILED, agentapi.Outcome_OUTCOME_UNSPECIFIED:
		if p.ended.GetReason() == "" {
			p.ended.Reason = "ToolFailed"
		}
		p.failed = &decide.Failure{Reason: p.ended.GetReason(), Message: p.ended.GetMessage()}
		p.failedSince = c.owner.Reference.Now()
	default:
		p.damage(fmt.Errorf("it ended with outcome %d", p.ended.GetOutcome()))
	}
	c.advance(attempt, decide.Ended)
}

// left says that the part was cut short by the agent's own leaving.
func (p *part) left() bool {
	return p.ended.GetOutcome() == agentapi.Outcome_OUTCOME_STOPPED && p.ended.GetReason() == agentapi.ReasonLeaving
}

// maxInstant bounds instants, so that differences and translations of any two fit.
const maxInstant = int64(1) << 61

// sampleOf reads a sample. Its instants stay the agent's.
func sampleOf(from *agentapi.Sample) (measure.Sample, error) {
	sample := measure.Sample{
		StartNanoseconds: from.GetStartNanoseconds(), EndNanoseconds: from.GetEndNanoseconds(), WarmUp: from.GetWarmUp()}
	if sample.StartNanoseconds < -maxInstant || sample.EndNanoseconds > maxInstant || sample.EndNanoseconds < sample.StartNanoseconds {
		return sample, fmt.Errorf("a sample lasts from %d to %d ns", sample.StartNanoseconds, sample.EndNanoseconds)
	}
	for _, count := range from.GetCounts() {
		if count.GetOperation() >= measure.NumOperations {
			return sample, fmt.Errorf("a sample counts operation %d, and there are %d", count.GetOperation(), measure.NumOperations)
		}
		counter := &sample.Counters[count.GetOperation()]
		if *counter != (measure.Counter{}) {
			return sample, fmt.Errorf("a sample counts operation %d twice", count.GetOperation())
		}
		*counter = measure.Counter{Bytes: count.GetBytes(), Operations: count.GetOperations()}
	}
	return sample, nil
}
