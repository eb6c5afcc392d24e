package conductor_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/conductor"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/measure"
)

// flood returns an agent with an endless log. The first record reports the start; next returns the i-th record after
// it.
func flood(base int64, next func(i int64) *agentapi.Record) *fake {
	step := &agentapi.StepKey{Id: first.Step, Attempt: uint32(first.Number)}
	return &fake{describe: good(), clock: time.Now().UnixNano(), watch: func(since uint64, send func(*agentapi.Record) error) error {
		for i := int64(since); ; i++ {
			record := begins(step, base)
			if i > 0 {
				record = next(i)
			}
			if record.GetStep() == nil {
				record.Step = step
			}
			record.Sequence = uint64(i) + 1
			if err := send(record); err != nil {
				return err
			}
		}
	}}
}

// unknown returns a field that is in no version of the protocol.
func unknown(bytes int) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, 9999, protowire.BytesType), make([]byte, bytes))
}

// dense returns a histogram that uses all its buckets.
func dense(t *testing.T) []byte {
	t.Helper()
	var histogram measure.Histogram
	for at := uint64(1); at < 1<<34; at += 1 + at/64 {
		histogram.AddNanoseconds(at, 1<<40)
	}
	encoded, err := histogram.MarshalBinary()
	must(t, err)
	return encoded
}

// floods returns hostile agents, named after what they send. Each sends without end something that only the conductor
// can limit.
func floods(t *testing.T, base int64) map[string]func() *fake {
	t.Helper()
	histogram := dense(t)
	minute := int64(time.Minute)
	return map[string]func() *fake{
		"latencies": func() *fake {
			return flood(base, func(i int64) *agentapi.Record {
				at := base + i%10_000*minute
				told := &agentapi.LatencyMinute{StartNanoseconds: at, EndNanoseconds: at + minute}
				for operation := range uint32(measure.NumOperations) {
					told.Histograms = append(told.Histograms, &agentapi.OperationHistogram{Operation: operation, Histogram: histogram})
				}
				return &agentapi.Record{Entry: &agentapi.Record_LatencyMinute{LatencyMinute: told}}
			})
		},
		"notices": func() *fake {
			return flood(base, func(int64) *agentapi.Record {
				return &agentapi.Record{Entry: &agentapi.Record_Notice{Notice: &agentapi.Notice{Warning: "IOStalled", Message: strings.Repeat("m", 200_000)}}}
			})
		},
		"samples": func() *fake {
			return flood(base, func(i int64) *agentapi.Record { return sample(base+i, base+i+1, &agentapi.OperationCount{Bytes: 1}) })
		},
		"unknown fields": func() *fake {
			return flood(base, func(i int64) *agentapi.Record {
				count := &agentapi.OperationCount{Bytes: 1}
				count.ProtoReflect().SetUnknown(unknown(200_000))
				record := sample(base+i, base+i+1, count)
				record.ProtoReflect().SetUnknown(unknown(200_000))
				return record
			})
		},
		"attempts": func() *fake {
			return flood(base, func(i int64) *agentapi.Record {
				return &agentapi.Record{Step: &agentapi.StepKey{Id: first.Step, Attempt: uint32(i) + 100},
					Entry: &agentapi.Record_Notice{Notice: &agentapi.Notice{Warning: "IOStalled", Message: strings.Repeat("m", 10_000)}}}
			})
		},
		"steps": func() *fake {
			return flood(base, func(i int64) *agentapi.Record {
				record := ended(nil)
				record.Step = &agentapi.StepKey{Id: strings.Repeat("x", 100_000) + fmt.Sprint(i), Attempt: 1}
				return record
			})
		},
		"empty elements": func() *fake {
			return flood(base, func(int64) *agentapi.Record {
				return ended(func(e *agentapi.Ended) { e.Operations = make([]*agentapi.OperationResult, 200_000) })
			})
		},
		"a description of 4 MiB": func() *fake {
			one := flood(base, func(i int64) *agentapi.Record { return sample(base+i, base+i+1) })
			one.describe.ProtoReflect().SetUnknown(unknown(4<<20 - 1000))
			return one
		},
	}
}

// TestFlood checks that agents that send without end are lost with a reason, that memory use stays within its limit,
// and that the honest agent beside them keeps its figures. A second conductor that reads the same logs comes to the
// same result.
func TestFlood(t *testing.T) {
	const copies, margin = 2, 64 << 20
	base := time.Now().Add(-7 * 24 * time.Hour).UnixNano()
	memory := conductor.NewBudget(8 << 20)
	var names []string
	var addresses []string
	for name, made := range floods(t, base) {
		for range copies {
			one := made()
			one.describe.Client = int32(len(names))
			addresses = append(addresses, serve(t, len(names), one))
			names = append(names, name)
		}
	}
	honest := len(names)
	if honest < 16 {
		t.Fatalf("there are %d hostile agents", honest)
	}
	figures := honestAgent(t)
	figures.describe.Client = int32(honest)
	addresses = append(addresses, serve(t, honest, figures))
	before := heap()
	for epoch := range uint64(2) {
		c := conductor.New(conductor.Options{RunUID: runUID, Epoch: epoch + 1, LossTimeout: time.Hour, Steps: steps(), Memory: memory})
		for index, address := range addresses {
			c.Connect(endpoint(t, index, address))
		}
		for index, name := range names {
			facts := await(t, c, index, "lost for "+name, func(client decide.Client) bool {
				// A record counts before its client is lost.
				if used, most := memory.Used(), memory.Limit()+int64(honest)<<20; used > most {
					t.Fatalf("%d bytes are kept, more than %d", used, most)
				}
				return client.Connection == decide.Lost
			})
			if !strings.Contains(facts.Message, "sent ") || facts.Attempts[first].Progress == decide.Ended {
				t.Errorf("%s: %+v", name, facts)
			}
		}
		await(t, c, honest, "ready", is(decide.Ready))
		if used := memory.Used(); used > memory.Limit() {
			t.Errorf("%d bytes are kept", used)
		}
		if grown := heap() - before; grown > memory.Limit()+margin {
			t.Errorf("epoch %d: the heap has grown by %d bytes", epoch, grown)
		}
		got := clientAttempt(t, c, first, honest)
		if got.Failure != "" || !got.Ended || len(samplesOf(got)) != 300 || got.Operations[measure.Write].Bytes != 300<<20 || got.Operations[measure.Write].Latency.Count != 7 {
			t.Errorf("the honest client: %q (%s), ended %t, %d samples, %+v", got.Failure, got.FailureMessage, got.Ended, len(samplesOf(got)), got.Operations[measure.Write].Counter)
		}
		follows(t, c)
		c.Close()
		if used := memory.Used(); used != 0 {
			t.Errorf("%d bytes are kept of a run that is closed", used)
		}
	}
}

// TestManySamples checks that a client with too many samples is lost before computing its result would exceed the
// memory limit, although the packed samples would fit.
func TestManySamples(t *testing.T) {
	t.Parallel()
	base := time.Now().Add(-time.Hour).UnixNano()
	memory := conductor.NewBudget(1 << 20)
	c := conductor.New(conductor.Options{RunUID: runUID, Epoch: 1, LossTimeout: time.Hour, Steps: steps(), Memory: memory})
	defer c.Close()
	c.Connect(endpoint(t, 0, serve(t, 0, flood(base, func(i int64) *agentapi.Record {
		return sample(base+i*1000, base+(i+1)*1000, &agentapi.OperationCount{Bytes: 1, Operations: 1})
	}))))
	facts := await(t, c, 0, "lost", is(decide.Lost))
	if want := "the agent sent samples whose result needs more than 0.6 MiB, the memory limit of one client"; facts.Message != want {
		t.Errorf("%q, want %q", facts.Message, want)
	}
	if used := memory.Used(); used > 4<<10 {
		t.Errorf("%d bytes are kept of a client that is lost", used)
	}
}

// honestAgent returns an agent that wrote for five minutes.
func honestAgent(t *testing.T) *fake {
	t.Helper()
	step := &agentapi.StepKey{Id: first.Step, Attempt: uint32(first.Number)}
	base := time.Now().Add(-10 * time.Minute).UnixNano()
	records := []*agentapi.Record{begins(step, base)}
	for i := range int64(300) {
		records = append(records, writes(step, base+i*second, base+(i+1)*second, 1<<20, false))
	}
	for i := range int64(5) {
		records = append(records, takes(t, step, base+i*60*second, base+(i+1)*60*second, time.Millisecond, 100))
	}
	var one measure.Latency
	one.AddNanoseconds(1000, 7)
	encoded, err := one.MarshalBinary()
	must(t, err)
	records = append(records, &agentapi.Record{Step: step, Entry: &agentapi.Record_Ended{Ended: &agentapi.Ended{
		Outcome: agentapi.Outcome_OUTCOME_COMPLETE, IoStartNanoseconds: base, IoEndNanoseconds: base + 300*second,
		Operations: []*agentapi.OperationResult{{Operation: uint32(measure.Write), Bytes: 300 << 20, Operations: 300 << 8, Latency: encoded, CompletionLatency: encoded}},
	}}})
	return teller(records...)
}

// follows checks that each loss policy leads to its action for the lost clients.
func follows(t *testing.T, c *conductor.Conductor) {
	t.Helper()
	for policy, want := range map[decide.LossPolicy]decide.Kind{
		decide.FailRun: decide.Fail, decide.RestartStep: decide.Retry, decide.ContinueDegraded: decide.RecordResult,
	} {
		now := c.Reference.Now()
		action := decide.Next(decide.Snapshot{
			Steps:   []decide.Step{{ID: first.Step, Targets: []string{"target"}, Limit: time.Hour}},
			Clients: c.Clients(),
			Records: map[string]decide.Record{first.Step: {Attempt: 1, Start: now.Add(-time.Minute), Deadline: now.Add(time.Hour)}},
			Policy:  decide.Policy{OnLoss: policy, MaxRestarts: 2, StartTimeout: time.Hour},
			Begun:   now.Add(-time.Hour),
		}, now)
		if action.Kind != want || want == decide.Fail && !strings.Contains(action.Failure.Message, " sent ") {
			t.Errorf("%s: %+v, want %v", policy, action, want)
		}
	}
}
