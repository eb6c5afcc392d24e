package agent

import (
	"bytes"
	"encoding/json"
	"io"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/engine/fio"
)

// setClock is a clock that says what it is told to.
type setClock struct{ monotonic, wall atomic.Int64 }

func (c *setClock) Monotonic() int64 { return c.monotonic.Load() }
func (c *setClock) Wall() int64      { return c.wall.Load() }

var stamp = regexp.MustCompile(`"timestamp_ms" : ([0-9]+)`)

// dumps are those of a real fio, with the times at which they were written.
func dumps(t *testing.T) (documents [][]byte, written []int64) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "fio", fio.Arguments(200*time.Millisecond)...)
	command.Dir = t.TempDir()
	command.Stdin = strings.NewReader(slowWrite(4)) // For more dumps than are needed, of which a busy machine may miss some.
	output, err := command.Output()
	must(t, err)
	decoder := json.NewDecoder(bytes.NewReader(output))
	for {
		var document json.RawMessage
		err := decoder.Decode(&document)
		if err == io.EOF { //nolint:errorlint // The decoder gives exactly this one.
			break
		}
		must(t, err)
		at, err := strconv.ParseInt(string(stamp.FindSubmatch(document)[1]), 10, 64)
		must(t, err)
		documents, written = append(documents, document), append(written, at)
	}
	if len(documents) < 6 {
		t.Fatalf("%d dumps of fio", len(documents))
	}
	return documents, written
}

// replay feeds dumps at the instants at which they were written. offset says how far the wall clock
// is off at each of them; fio's stamps go with it.
func replay(t *testing.T, documents [][]byte, written []int64, offset func(i int) time.Duration) ([]*agentapi.Record, *feed) {
	t.Helper()
	clock := &setClock{}
	set := func(i int) {
		clock.monotonic.Store((written[i]-written[0]+5000)*1e6 + 3e6)
		clock.wall.Store(written[i]*1e6 + 3e6 + int64(offset(i)))
	}
	set(0)
	a := New(Config{}, clock)
	f := newFeed(newStep(a, request("a", "")))
	reader, writer := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.read(reader)
	}()
	for i, document := range documents {
		set(i)
		moved := stamp.ReplaceAll(document, []byte(`"timestamp_ms" : `+strconv.FormatInt(written[i]+offset(i).Milliseconds(), 10)))
		for _, part := range [][]byte{moved, []byte("\n"), []byte("\n")} {
			// A write returns when all was read, and what was read before was worked on.
			_, err := writer.Write(part)
			must(t, err)
		}
	}
	must(t, writer.Close())
	<-done
	records, err := a.log.Since(0)
	must(t, err)
	return records, f
}

// However the wall clock is set while a step runs, its samples stay where they were.
func TestWallClockJumps(t *testing.T) {
	t.Parallel()
	documents, written := dumps(t)
	want, even := replay(t, documents, written, func(int) time.Duration { return 0 })
	if len(want) < 6 || len(even.problems) > 0 {
		t.Fatalf("without a jump: %v, %v", want, even.problems)
	}
	since, _ := even.sampler.MeasuredSince()
	for name, offset := range map[string]func(int) time.Duration{
		"an hour ahead": func(i int) time.Duration { return time.Duration(min(i/3, 1)) * time.Hour },
		"a day back":    func(i int) time.Duration { return -time.Duration(min(i/4, 1)) * 24 * time.Hour },
		"to and fro":    func(i int) time.Duration { return time.Duration(i%2) * time.Minute },
		"a second back": func(i int) time.Duration { return -time.Duration(min(i/5, 1)) * time.Second },
	} {
		got, jumped := replay(t, documents, written, offset)
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
	records, err := s.agent.log.Since(0)
	must(t, err)
	if len(records) != 2 || records[1].GetEnded().GetToolMessages() != "a\uFFFDb" {
		t.Errorf("got %v", records)
	}
}
