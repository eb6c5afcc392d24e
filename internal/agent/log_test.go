package agent

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/measure"
)

// anyRecord draws a record of a random kind.
func anyRecord(t *rapid.T) *agentapi.Record {
	record := &agentapi.Record{Step: &agentapi.StepKey{
		Id:      rapid.SampledFrom([]string{"00-layout", "01-write", "02-read"}).Draw(t, "step"),
		Attempt: rapid.Uint32Range(1, 3).Draw(t, "attempt"),
	}}
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		record.Entry = &agentapi.Record_Notice{Notice: &agentapi.Notice{
			Warning: "IOStalled", Message: rapid.StringN(0, 200, 400).Draw(t, "message")}}
	case 1:
		record.Entry = &agentapi.Record_Started{Started: &agentapi.Started{
			ReleasedNanoseconds: rapid.Int64().Draw(t, "released")}}
	default:
		sample := &agentapi.Sample{
			StartNanoseconds: rapid.Int64Range(-1<<60, 1<<60).Draw(t, "start"),
			EndNanoseconds:   rapid.Int64Range(-1<<60, 1<<60).Draw(t, "end"),
			WarmUp:           rapid.Bool().Draw(t, "warm-up"),
		}
		for operation := range rapid.Uint32Range(0, measure.NumOperations).Draw(t, "operations") {
			sample.Counts = append(sample.Counts, &agentapi.OperationCount{Operation: operation,
				Bytes: rapid.Uint64().Draw(t, "bytes"), Operations: rapid.Uint64().Draw(t, "operations"),
				MeanLatencyMicroseconds: rapid.Uint64().Draw(t, "latency")})
		}
		record.Entry = &agentapi.Record_Sample{Sample: sample}
	}
	return record
}

// TestLogReplays checks that records can be read from any sequence number on, even while more are written.
func TestLogReplays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var log Log
		var want, followed []*agentapi.Record
		follower := log.After(0)
		for i := range rapid.IntRange(1, 400).Draw(t, "records") {
			record := anyRecord(t)
			if err := log.Append(record); err != nil {
				t.Fatal(err)
			}
			record.Sequence = uint64(i) + 1
			want = append(want, record)
			if rapid.Bool().Draw(t, "follow") {
				followed = append(followed, next(t, follower)...)
			}
		}
		since := rapid.Uint64Range(0, uint64(len(want))).Draw(t, "since")
		got := rest(t, log.After(since))
		if diff := cmp.Diff(want[since:], got, protocmp.Transform()); len(want[since:]) != len(got) || diff != "" && len(got) > 0 {
			t.Fatalf("replay from %d differs (-want +got):\n%s", since, diff)
		}
		if diff := cmp.Diff(want, append(followed, rest(t, follower)...), protocmp.Transform()); diff != "" {
			t.Fatalf("what was followed differs (-want +got):\n%s", diff)
		}
	})
}

func next(t rapid.TB, cursor *Cursor) []*agentapi.Record {
	t.Helper()
	records, err := cursor.Next()
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// rest reads all remaining records of a cursor.
func rest(t rapid.TB, cursor *Cursor) []*agentapi.Record {
	t.Helper()
	var all []*agentapi.Record
	for {
		records := next(t, cursor)
		if len(records) == 0 {
			return all
		}
		all = append(all, records...)
	}
}

// TestFollowingDecodesOnce checks that reading the newest record needs no more allocations at the end of a chunk than
// at its start.
func TestFollowingDecodesOnce(t *testing.T) {
	var log Log
	cursor, step := log.After(0), &agentapi.StepKey{Id: "00-read", Attempt: 1}
	second := int64(0)
	follow := func() {
		second++
		sample := &agentapi.Sample{StartNanoseconds: second * 1e9, EndNanoseconds: (second + 1) * 1e9,
			Counts: []*agentapi.OperationCount{{Bytes: 1 << 30, Operations: 1 << 10}}}
		if err := log.Append(&agentapi.Record{Step: step, Entry: &agentapi.Record_Sample{Sample: sample}}); err != nil {
			t.Fatal(err)
		}
		if records := next(t, cursor); len(records) != 1 || records[0].GetSequence() != uint64(second) {
			t.Fatalf("record %d: got %v", second, records)
		}
	}
	follow()
	early := testing.AllocsPerRun(10, follow)
	for range 150 {
		follow()
	}
	late := testing.AllocsPerRun(10, follow)
	if chunks := len(log.chunks); chunks != 1 || late > early {
		t.Errorf("%g allocations per record at the start of a chunk and %g at its end, in %d chunks", early, late, chunks)
	}
}

func TestLogWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log Log
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := log.Wait(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an empty log gave %v", err)
		}
		woken := make(chan error, 1)
		go func() { woken <- log.Wait(t.Context(), 0) }()
		synctest.Wait()
		if err := log.Append(&agentapi.Record{Entry: &agentapi.Record_Started{Started: &agentapi.Started{}}}); err != nil {
			t.Fatal(err)
		}
		if err := <-woken; err != nil {
			t.Error(err)
		}
	})
}

// TestLogBudget checks the size of the log of a whole day of a mixed load: one sample per second and one latency record
// per minute, with large counts and a wide histogram.
func TestLogBudget(t *testing.T) {
	const budget = 8 << 20
	var log Log
	start := int64(987_654_321_000_000)
	step := &agentapi.StepKey{Id: "03-baseline", Attempt: 1}
	for second := range int64(24 * 3600) {
		sample := &agentapi.Sample{
			StartNanoseconds: start + second*1_000_123_000, EndNanoseconds: start + (second+1)*1_000_123_000,
			Counts: []*agentapi.OperationCount{
				{Operation: 0, Bytes: 12_460_000_000 + uint64(second), Operations: 1_200_000 + uint64(second), MeanLatencyMicroseconds: 4_210 + uint64(second)%1000},
				{Operation: 1, Bytes: 3_560_000_000 + uint64(second), Operations: 870_000 + uint64(second), MeanLatencyMicroseconds: 17_310 + uint64(second)%1000},
			},
		}
		if err := log.Append(&agentapi.Record{Step: step, Entry: &agentapi.Record_Sample{Sample: sample}}); err != nil {
			t.Fatal(err)
		}
		if second%60 == 59 {
			appendMinute(t, &log, step, start+second*1_000_123_000)
		}
	}
	size := log.SizeBytes()
	t.Logf("24 h of two operations take %.2f MiB, %.1f bytes a sample and operation with all else", float64(size)/(1<<20), float64(size)/24/3600/2)
	if size > budget {
		t.Errorf("24 h take %d bytes, more than %d", size, budget)
	}
}

// appendMinute adds latencies over three decades, as a loaded store has them.
func appendMinute(t *testing.T, log *Log, step *agentapi.StepKey, end int64) {
	t.Helper()
	record := &agentapi.LatencyMinute{StartNanoseconds: end - int64(time.Minute), EndNanoseconds: end}
	for operation := range uint32(2) {
		var histogram measure.Histogram
		for nanoseconds := uint64(20_000); nanoseconds < 20_000_000; nanoseconds += nanoseconds / 60 {
			histogram.AddNanoseconds(nanoseconds, 70_000_000/nanoseconds)
		}
		encoded, err := histogram.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		record.Histograms = append(record.Histograms, &agentapi.OperationHistogram{Operation: operation, Histogram: encoded})
	}
	if err := log.Append(&agentapi.Record{Step: step, Entry: &agentapi.Record_LatencyMinute{LatencyMinute: record}}); err != nil {
		t.Fatal(err)
	}
}

// TestRecordsHoldAnyBytes checks that the log accepts invalid UTF-8, which a tool may print.
func TestRecordsHoldAnyBytes(t *testing.T) {
	t.Parallel()
	s := newStep(New(Config{}, SystemClock{}), key("a"), content{})
	s.forTool(request("a", "")).Notice("ToolMessages", "%s", "\xff\xfe")
	s.write(&agentapi.Record{Entry: &agentapi.Record_Ended{Ended: &agentapi.Ended{
		Message: "\xc3", ToolMessages: "a\x80b", ToolVersion: "\xff", Notices: []*agentapi.Notice{{Message: "\xff"}}}}})
	records := rest(t, s.agent.log.After(0))
	if len(records) != 2 || records[1].GetEnded().GetToolMessages() != "a\uFFFDb" {
		t.Errorf("got %v", records)
	}
}
