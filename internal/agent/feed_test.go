package agent

import (
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/storagebench/storagebench/internal/agentapi"
)

var stamp = regexp.MustCompile(`"timestamp_ms" : ([0-9]+)`)

// replay feeds dumps at the instants at which they were written. offset says by how many milliseconds the wall clock is off at
// each of them; fio's stamps go with it.
func replay(t *testing.T, dumps []dump, offset func(i int) int64) ([]*agentapi.Record, *feed) {
	t.Helper()
	clock := &setClock{}
	clock.at(dumps[0].milliseconds, offset(0))
	a := New(Config{}, clock)
	load := request("a", "")
	load.GetFio().Jobs = 4
	f := newFeed(newStep(a, load))
	reader, writer := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.read(reader)
	}()
	for i, one := range dumps {
		clock.at(one.milliseconds+3, offset(i))
		moved := stamp.ReplaceAll(one.text, []byte(`"timestamp_ms" : `+strconv.FormatInt(one.milliseconds+offset(i), 10)))
		for _, part := range [][]byte{moved, []byte("\n"), []byte("\n")} {
			// A write returns when all was read, and what was read before was worked on.
			_, err := writer.Write(part)
			must(t, err)
		}
	}
	must(t, writer.Close())
	<-done
	records := rest(t, a.log.After(0))
	return records, f
}

// However the wall clock is set while a step runs, its samples stay where they were.
func TestWallClockJumps(t *testing.T) {
	t.Parallel()
	dumps := dumpsOf(t, "late-dump")
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

func TestTail(t *testing.T) {
	t.Parallel()
	kept := &tail{limit: 16}
	for _, part := range []string{"first ", "words ", "and ", "many ", "more ", "last"} {
		if n, err := kept.Write([]byte(part)); n != len(part) || err != nil {
			t.Errorf("got %d, %v", n, err)
		}
	}
	if got, want := kept.String(), "first wo\n[...]\nore last"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	short := &tail{limit: 16}
	short.note("")
	if got := short.String(); !strings.HasPrefix(got, "storageb") {
		t.Errorf("got %q", got)
	}
}

// What a tool says may be no text at all; the log takes it all the same.
func TestRecordsHoldAnyBytes(t *testing.T) {
	t.Parallel()
	s := newStep(New(Config{}, SystemClock{}), request("a", ""))
	s.notice("ToolMessages", "%s", "\xff\xfe")
	s.write(&agentapi.Record{Entry: &agentapi.Record_Ended{Ended: &agentapi.Ended{
		Message: "\xc3", ToolMessages: "a\x80b", ToolVersion: "\xff", Notices: []*agentapi.Notice{{Message: "\xff"}}}}})
	records := rest(t, s.agent.log.After(0))
	if len(records) != 2 || records[1].GetEnded().GetToolMessages() != "a\uFFFDb" {
		t.Errorf("got %v", records)
	}
}
