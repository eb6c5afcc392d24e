package conductor_test

import (
	"context"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/measure"
)

// fake is an agent that sends the messages that the test sets.
type fake struct {
	agentapi.UnimplementedAgentServer
	describe *agentapi.DescribeResponse
	clock    int64
	watch    func(since uint64, send func(*agentapi.Record) error) error
	start    error
}

// good returns the description of a well-behaved agent.
func good() *agentapi.DescribeResponse {
	return &agentapi.DescribeResponse{RunUid: runUID, Target: "target", Client: 0, AgentVersion: "v1", Protocol: agentapi.Protocol}
}

func (f *fake) Describe(context.Context, *agentapi.DescribeRequest) (*agentapi.DescribeResponse, error) {
	return f.describe, nil
}

func (f *fake) Clock(context.Context, *agentapi.ClockRequest) (*agentapi.ClockResponse, error) {
	return &agentapi.ClockResponse{MonotonicNanoseconds: f.clock}, nil
}

func (f *fake) Load(context.Context, *agentapi.LoadRequest) (*agentapi.LoadResponse, error) {
	return &agentapi.LoadResponse{}, nil
}

func (f *fake) Start(context.Context, *agentapi.StartRequest) (*agentapi.StartResponse, error) {
	return &agentapi.StartResponse{}, f.start
}

func (f *fake) Watch(request *agentapi.WatchRequest, stream grpc.ServerStreamingServer[agentapi.Record]) error {
	if f.watch != nil {
		if err := f.watch(request.GetSince(), stream.Send); err != nil {
			return err
		}
	}
	<-stream.Context().Done()
	return stream.Context().Err()
}

func TestUnfitAgents(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*agentapi.DescribeResponse)
		reason string
		words  string
	}{
		"another protocol": {change: func(d *agentapi.DescribeResponse) { d.Protocol = 9 }, reason: "ProtocolMismatch",
			words: "the agent (version v1) has protocol version 9, but this operator needs 1: use the agent image of the operator's version"},
		"no protocol":    {change: func(d *agentapi.DescribeResponse) { d.Protocol, d.AgentVersion = 0, "" }, reason: "ProtocolMismatch", words: "the agent (version unknown) has protocol version 0"},
		"another run":    {change: func(d *agentapi.DescribeResponse) { d.RunUid = "other" }, reason: "WrongAgent", words: "client target/0 of run other"},
		"another client": {change: func(d *agentapi.DescribeResponse) { d.Client = 1 }, reason: "WrongAgent", words: "client target/1"},
		"no volume": {change: func(d *agentapi.DescribeResponse) {
			d.Volumes = []*agentapi.Volume{{Name: "data", Path: "/d", Problem: "is gone\x1b[31m\nreally"}}
		}, reason: "VolumeUnfit", words: "volume data at /d: is gone[31m really"},
		"no tool": {change: func(d *agentapi.DescribeResponse) {
			d.Tools = []*agentapi.Tool{{Name: "fio", Problem: "is not here"}}
		}, reason: "ToolMissing", words: "fio: is not here"},
		"too many volumes": {change: func(d *agentapi.DescribeResponse) {
			for range 1000 {
				d.Volumes = append(d.Volumes, &agentapi.Volume{})
			}
		}, reason: "BadRecord", words: "1000 volumes"},
		"too many owners": {change: func(d *agentapi.DescribeResponse) {
			d.Volumes = []*agentapi.Volume{{Owners: make([]string, 65)}}
		}, reason: "BadRecord", words: "data of 65 other benchmarks"},
		"text that hides": {change: func(d *agentapi.DescribeResponse) {
			d.Volumes = []*agentapi.Volume{{Name: "data", Path: "/d", Problem: "is\u202e not\u2028\u200b\ufeff there"}}
		}, reason: "VolumeUnfit", words: "volume data at /d: is not there"},
		"too many steps": {change: func(d *agentapi.DescribeResponse) {
			for range 5000 {
				d.Steps = append(d.Steps, &agentapi.StepStatus{})
			}
		}, reason: "BadRecord", words: "5000 steps"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			described := good()
			test.change(described)
			c := conduct(t, 1, time.Hour)
			c.Connect(endpoint(t, 0, serve(t, 0, &fake{describe: described})))
			facts := await(t, c, 0, "unfit", is(decide.Unfit))
			if facts.Reason != test.reason || !strings.Contains(facts.Message, test.words) {
				t.Errorf("got %s: %q", facts.Reason, facts.Message)
			}
		})
	}
}

// sequence numbers records of the first attempt from 1.
func sequence(records ...*agentapi.Record) []*agentapi.Record {
	for i, record := range records {
		record.Sequence = uint64(i) + 1
		record.Step = &agentapi.StepKey{Id: first.Step, Attempt: uint32(first.Number)}
	}
	return records
}

func sample(start, end int64, counts ...*agentapi.OperationCount) *agentapi.Record {
	return &agentapi.Record{Entry: &agentapi.Record_Sample{Sample: &agentapi.Sample{StartNanoseconds: start, EndNanoseconds: end, Counts: counts}}}
}

func ended(change func(*agentapi.Ended)) *agentapi.Record {
	result := &agentapi.Ended{Outcome: agentapi.Outcome_OUTCOME_COMPLETE, IoStartNanoseconds: 1e9, IoEndNanoseconds: 2e9}
	if change != nil {
		change(result)
	}
	return &agentapi.Record{Entry: &agentapi.Record_Ended{Ended: result}}
}

func latency() []byte {
	var one measure.Latency
	encoded, err := one.MarshalBinary()
	if err != nil {
		panic(err)
	}
	return encoded
}

// sends returns a Watch implementation that sends records once and then waits.
func sends(records []*agentapi.Record) func(uint64, func(*agentapi.Record) error) error {
	return func(since uint64, send func(*agentapi.Record) error) error {
		for _, record := range records {
			if record.GetSequence() <= since {
				continue
			}
			if err := send(record); err != nil {
				return err
			}
		}
		return nil
	}
}

// TestHostileRecords checks that no record, whatever its content, leads to a figure that was not measured.
func TestHostileRecords(t *testing.T) {
	t.Parallel()
	operation := func(number uint32, latency, completion []byte) func(*agentapi.Ended) {
		return func(e *agentapi.Ended) {
			e.Operations = []*agentapi.OperationResult{{Operation: number, Bytes: 1, Operations: 1, Latency: latency, CompletionLatency: completion}}
		}
	}
	twice := func(e *agentapi.Ended) {
		operation(1, latency(), latency())(e)
		e.Operations = append(e.Operations, e.GetOperations()[0])
	}
	tests := map[string]struct {
		records []*agentapi.Record
		words   string
	}{
		"bad histogram":          {records: sequence(ended(operation(0, []byte{1, 2, 3}, latency()))), words: "Read: decode latency"},
		"bad completion":         {records: sequence(ended(operation(0, latency(), []byte("x")))), words: "Read: decode latency"},
		"no histogram":           {records: sequence(ended(operation(0, nil, nil))), words: "decode latency"},
		"operation out of range": {records: sequence(ended(operation(measure.NumOperations, latency(), latency()))), words: "invalid result: operation 7 is out of range"},
		"huge operation":         {records: sequence(ended(operation(math.MaxUint32, latency(), latency()))), words: "invalid result: operation 4294967295"},
		"operation twice":        {records: sequence(ended(twice)), words: "invalid result: duplicate Write"},
		"many operations":        {records: sequence(ended(func(e *agentapi.Ended) { e.Operations = make([]*agentapi.OperationResult, 1000) })), words: "invalid result: too many operations (1000)"},
		"negative submission": {records: sequence(ended(func(e *agentapi.Ended) {
			operation(0, latency(), latency())(e)
			e.Operations[0].SubmissionMeanNanoseconds = -1
		})), words: "-1 ns"},
		"I/O before its start":      {records: sequence(ended(func(e *agentapi.Ended) { e.IoEndNanoseconds = 1 })), words: "invalid result: I/O from 1000000000 to 1 ns"},
		"I/O for ever":              {records: sequence(ended(func(e *agentapi.Ended) { e.IoEndNanoseconds = math.MaxInt64 })), words: "invalid result: I/O from"},
		"sample of no operation":    {records: sequence(sample(1, 2, &agentapi.OperationCount{Operation: 9}), ended(nil)), words: "invalid sample: operation 9"},
		"sample with one twice":     {records: sequence(sample(1, 2, &agentapi.OperationCount{Bytes: 1}, &agentapi.OperationCount{Bytes: 1}), ended(nil)), words: "invalid sample: duplicate operation 0"},
		"sample that ends too soon": {records: sequence(sample(2, 1), ended(nil)), words: "invalid sample: 2 to 1 ns"},
		"sample for ever":           {records: sequence(sample(math.MinInt64, math.MaxInt64), ended(nil)), words: "invalid sample"},
		"ended twice":               {records: sequence(ended(nil), ended(nil)), words: "the agent reported the end of the step twice"},
		"unknown source": {records: sequence(ended(func(e *agentapi.Ended) {
			e.Command = &agentapi.CommandResult{Sources: []*agentapi.ByteSource{{Source: "Calls"}, {Source: "\x1b[31mEvil"}}}
		})), words: `invalid result: source "`},
		"source twice": {records: sequence(ended(func(e *agentapi.Ended) {
			e.Command = &agentapi.CommandResult{Sources: []*agentapi.ByteSource{{Source: "Calls"}, {Source: "Calls"}}}
		})), words: "unknown or a duplicate"},
		"many sources": {records: sequence(ended(func(e *agentapi.Ended) {
			e.Command = &agentapi.CommandResult{Sources: make([]*agentapi.ByteSource, 1000)}
		})), words: "invalid result: too many sources (1000)"},
		"a program that ran for ever": {records: sequence(ended(func(e *agentapi.Ended) {
			e.Command = &agentapi.CommandResult{DurationNanoseconds: math.MaxInt64}
		})), words: "invalid result: program duration"},
		"a sample of years ahead": {records: sequence(sample(1, 1<<60), ended(nil)), words: "invalid sample: the interval from 1 to 1152921504606846976 ns is outside the run"},
		"invalid latencies of the future": {records: sequence(
			&agentapi.Record{Entry: &agentapi.Record_Started{Started: &agentapi.Started{ReleasedNanoseconds: 1}}},
			&agentapi.Record{Entry: &agentapi.Record_LatencyMinute{LatencyMinute: &agentapi.LatencyMinute{StartNanoseconds: 1, EndNanoseconds: 1e14}}}, ended(nil)),
			words: "latencies: the interval from 1 to 100000000000000 ns is outside the run"},
		"unknown outcome": {records: sequence(ended(func(e *agentapi.Ended) { e.Outcome = 77 })), words: "outcome 77"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := conduct(t, 1, time.Hour)
			described := good()
			described.LastSequence = uint64(len(test.records))
			c.Connect(endpoint(t, 0, serve(t, 0, &fake{describe: described, watch: sends(test.records)})))
			await(t, c, 0, "ready", is(decide.Ready))
			got := clientAttempt(t, c, first, 0)
			if got.Failure != "BadResult" || !strings.Contains(got.FailureMessage, test.words) {
				t.Errorf("got %q: %q", got.Failure, got.FailureMessage)
			}
		})
	}
}

// TestHostileWords checks that a failure without a valid reason is still a failure, and that reasons and messages are
// sanitized before they are shown.
func TestHostileWords(t *testing.T) {
	t.Parallel()
	records := sequence(
		&agentapi.Record{Entry: &agentapi.Record_Notice{Notice: &agentapi.Notice{Warning: "MadeUp", Message: "a\x1b[2Jb"}}},
		&agentapi.Record{},
		ended(func(e *agentapi.Ended) {
			e.Outcome, e.Reason, e.Message = agentapi.Outcome_OUTCOME_FAILED, "no word <b>", strings.Repeat("x\x07", 100_000)
			e.ToolMessages, e.ToolVersion = "one\ntwo\r\x00", strings.Repeat("v", 1000)
			e.Cpu = &agentapi.CPUUse{BusyNanoseconds: -5, WallNanoseconds: -5, LimitMilli: -5, ThrottledPeriods: 9, Periods: 3}
		}))
	c := conduct(t, 1, time.Hour)
	described := good()
	described.LastSequence = 3
	c.Connect(endpoint(t, 0, serve(t, 0, &fake{describe: described, watch: sends(records)})))
	await(t, c, 0, "ready", is(decide.Ready))
	got := clientAttempt(t, c, first, 0)
	if got.Failure != "ToolFailed" || len(got.FailureMessage) > 1024 || strings.Contains(got.FailureMessage, "\x07") {
		t.Errorf("failure %q, %d characters", got.Failure, len(got.FailureMessage))
	}
	if got.Output != "one\ntwo" || len(got.ToolVersion) > 64 {
		t.Errorf("it says %q, version %q", got.Output, got.ToolVersion)
	}
	if len(got.Notices) != 1 || got.Notices[0].Warning != string(v1alpha1.WarningToolError) || got.Notices[0].Message != `unknown warning "MadeUp": a[2Jb` {
		t.Errorf("notices %+v", got.Notices)
	}
	if cpu := got.CPU; cpu.Busy != 0 || cpu.Wall != 0 || cpu.LimitMilli != 0 || cpu.ThrottledPeriods != 3 {
		t.Errorf("CPU %+v", cpu)
	}
}

// TestHostileLogs checks that logs with gaps, logs that shrink and endless logs are rejected.
func TestHostileLogs(t *testing.T) {
	t.Parallel()
	skips := sequence(sample(1, 2), sample(2, 3))
	skips[1].Sequence = 5
	tests := map[string]struct {
		watch      func(uint64, func(*agentapi.Record) error) error
		connection decide.Connection
		words      string
	}{
		"skips": {watch: sends(skips), connection: decide.Unfit, words: "the agent's log skips from record 1 to 5"},
		"forgets": {watch: func(_ uint64, send func(*agentapi.Record) error) error {
			_ = send(sequence(sample(1, 2))[0])
			return status.Error(codes.Unavailable, "restarting")
		}, connection: decide.Lost, words: "the agent's log shrank from 1 to 0 records"},
		"a long name": {watch: func(_ uint64, send func(*agentapi.Record) error) error {
			return send(&agentapi.Record{Sequence: 1, Step: &agentapi.StepKey{Id: strings.Repeat("x", 1<<20)}})
		}, connection: decide.Lost, words: "the agent sent a message above the size limit: grpc: received message larger than max (1048586 vs. 524288)"},
		"many elements": {watch: func(_ uint64, send func(*agentapi.Record) error) error {
			return send(sequence(ended(func(e *agentapi.Ended) { e.Operations = make([]*agentapi.OperationResult, 100_000) }))[0])
		}, connection: decide.Lost, words: "the agent sent an unreadable message: a message of 200"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := conduct(t, 1, time.Hour)
			c.Connect(endpoint(t, 0, serve(t, 0, &fake{describe: good(), watch: test.watch})))
			facts := await(t, c, 0, string(test.connection), is(test.connection))
			if !strings.Contains(facts.Message, test.words) {
				t.Errorf("got %s: %q", facts.Reason, facts.Message)
			}
		})
	}
}

// TestManyNotices checks that the memory for notices is bounded, however many an agent sends.
func TestManyNotices(t *testing.T) {
	const count = 300_000
	notice := sequence(&agentapi.Record{Entry: &agentapi.Record_Notice{Notice: &agentapi.Notice{Warning: "IOStalled", Message: strings.Repeat("m", 200)}}})[0]
	described := good()
	described.LastSequence = count
	c := conduct(t, 1, time.Hour)
	before := heap()
	c.Connect(endpoint(t, 0, serve(t, 0, &fake{describe: described, watch: func(_ uint64, send func(*agentapi.Record) error) error {
		for notice.Sequence = 1; notice.GetSequence() <= count; notice.Sequence++ {
			if err := send(notice); err != nil {
				return err
			}
		}
		return nil
	}})))
	await(t, c, 0, "ready", is(decide.Ready))
	if grown := heap() - before; grown > 16<<20 {
		t.Errorf("%d notices take %d bytes", count, grown)
	}
	if got := clientAttempt(t, c, first, 0).Notices; len(got) != 65 || got[64].Message != "and 299936 more warnings" {
		t.Errorf("%d notices are kept, the last says %v", len(got), got[len(got)-1])
	}
}

// TestEndAfterManyNotices checks that the notices in a step's end record are kept even if the step has already exceeded
// the number of notices.
func TestEndAfterManyNotices(t *testing.T) {
	t.Parallel()
	var records []*agentapi.Record
	for range 100 {
		notice := &agentapi.Notice{Warning: "IOStalled"}
		records = append(records, &agentapi.Record{Entry: &agentapi.Record_Notice{Notice: notice}})
	}
	records = append(records, ended(func(e *agentapi.Ended) {
		e.Notices = []*agentapi.Notice{{Warning: "DirectIONotHonoured"}}
	}))
	described := good()
	described.LastSequence = uint64(len(records))
	c := conduct(t, 1, time.Hour)
	c.Connect(endpoint(t, 0, serve(t, 0, &fake{describe: described, watch: sends(sequence(records...))})))
	await(t, c, 0, "ready", is(decide.Ready))
	got := clientAttempt(t, c, first, 0).Notices
	if len(got) != 66 || got[64].Warning != "DirectIONotHonoured" || got[65].Message != "and 36 more warnings" {
		t.Errorf("%d notices are kept: %+v", len(got), got)
	}
}

func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// TestHostileAnswers checks that a client is lost if its agent no longer has a loaded step, and that a client does not
// become ready if its clock is out of range.
func TestHostileAnswers(t *testing.T) {
	t.Parallel()
	c := conduct(t, 1, time.Hour)
	c.Connect(endpoint(t, 0, serve(t, 0, &fake{describe: good(), start: status.Error(codes.NotFound, "never heard of it")})))
	keys := []decide.ClientKey{clientKey(0)}
	await(t, c, 0, "ready", is(decide.Ready))
	c.Load(first, keys, load)
	await(t, c, 0, "loaded", has(first, decide.Loaded))
	c.Start(first, keys, c.Reference.Now(), c.Reference.Now().Add(time.Minute))
	if facts := await(t, c, 0, "lost", is(decide.Lost)); !strings.Contains(facts.Message, "no longer has a step") {
		t.Errorf("got %q", facts.Message)
	}
	strange := conduct(t, 1, time.Hour)
	strange.Connect(endpoint(t, 0, serve(t, 0, &fake{describe: good(), clock: math.MaxInt64})))
	await(t, strange, 0, "connecting, with a complaint", func(c decide.Client) bool {
		return c.Connection == decide.Connecting && strings.Contains(c.Message, "out of range")
	})
}
