package fio

import (
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/storagebench/storagebench/internal/agent/agenttest"
	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
)

// replay feeds dumps at the times at which they were written. offset returns the error of the wall clock, and so of
// fio's timestamps, at each dump in milliseconds.
func replay(t *testing.T, dumps []agenttest.Dump, offset func(i int) int64) ([]*agentapi.Record, *feed) {
	t.Helper()
	clock := &agenttest.Clock{}
	clock.Set(dumps[0].Milliseconds, offset(0))
	var records []*agentapi.Record
	f := newFeed(&tool.Step{
		Environment: &tool.Environment{Clock: clock},
		Request:     &agentapi.LoadRequest{Tool: &agentapi.LoadRequest_Fio{Fio: &agentapi.FioTool{Jobs: 4}}},
		Write:       func(record *agentapi.Record) { records = append(records, record) },
		LogBytes:    func() int { return 0 },
	})
	reader, writer := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.read(reader)
	}()
	for i, one := range dumps {
		clock.Set(one.Milliseconds+3, offset(i))
		moved := one.Stamped(one.Milliseconds + offset(i))
		for _, part := range [][]byte{moved, []byte("\n"), []byte("\n")} {
			// A write returns once the feed has processed everything before it.
			_, err := writer.Write(part)
			agenttest.Must(t, err)
		}
	}
	agenttest.Must(t, writer.Close())
	<-done
	return records, f
}

// TestWallClockJumps checks that changes of the wall clock during a step do not shift its samples.
func TestWallClockJumps(t *testing.T) {
	t.Parallel()
	dumps := agenttest.Dumps(t, "../../engine/fio/testdata/runs/late-dump.stdout")
	want, even := replay(t, dumps, func(int) int64 { return 0 })
	if len(dumps) != 6 || len(want) < 6 || len(even.problems) > 0 {
		t.Fatalf("without a jump: %v, %v", want, even.problems)
	}
	since, _ := even.sampler.MeasuredSince()
	for name, offset := range map[string]func(i int) int64{
		"an hour ahead": func(i int) int64 { return int64(i/3) * time.Hour.Milliseconds() },
		"a day back":    func(i int) int64 { return -int64(i/4) * 24 * time.Hour.Milliseconds() },
		"to and fro":    func(i int) int64 { return int64(i%2) * time.Minute.Milliseconds() },
		"a second back": func(i int) int64 { return -int64(i/5) * 1000 },
	} {
		got, jumped := replay(t, dumps, offset)
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" || len(jumped.problems) > 0 {
			t.Errorf("%s: %v, (-even +jumped):\n%s", name, jumped.problems, diff)
		}
		if at, ok := jumped.sampler.MeasuredSince(); !ok || at != since {
			t.Errorf("%s: its I/O began at %d, without a jump at %d", name, at, since)
		}
	}
}
