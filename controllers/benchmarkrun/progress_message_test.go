package benchmarkrun

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
)

// TestProgressInterval checks that progress reports write at most 10 kB per second for a run of any size, and that a
// small run reports at the shortest interval.
func TestProgressInterval(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		steps    int
		from, to time.Duration
	}{{0, leastProgressInterval, leastProgressInterval}, {20, leastProgressInterval, leastProgressInterval}, {400, 5 * time.Second, 60 * time.Second}} {
		run := &v1alpha1.BenchmarkRun{}
		for range test.steps {
			run.Status.Steps = append(run.Status.Steps, v1alpha1.StepStatus{ID: "00-layout", Attempt: 1, Message: strings.Repeat("a", 256)})
		}
		encoded, err := json.Marshal(run)
		if err != nil {
			t.Fatal(err)
		}
		interval := progressInterval(run)
		if interval < test.from || interval > test.to || float64(len(encoded))/interval.Seconds() > progressBytesPerSecond+1 {
			t.Errorf("a run of %d bytes is reported every %s", len(encoded), interval)
		}
	}
}

// TestConnectInterval checks that the reports of a run that connects to its clients become less frequent: after 2, 6
// and 14 seconds, and so on. They do not depend on the number of clients.
func TestConnectInterval(t *testing.T) {
	t.Parallel()
	var interval time.Duration
	for report, want := range []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, leastProgressInterval, leastProgressInterval} {
		if interval = connectInterval(interval); interval != want {
			t.Errorf("after report %d: %s, want %s", report, interval, want)
		}
	}
}

// TestLongestWait checks that a run is reconciled again when its next report is due, because no event triggers that.
func TestLongestWait(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 27, 8, 0, 0, 0, time.UTC)
	in := func(wait time.Duration) time.Time { return now.Add(wait) }
	for name, test := range map[string]struct {
		until, nextReport time.Time
		settled           bool
		want              time.Duration
	}{
		"nothing to wait for":       {settled: true, want: beat},
		"status changed":            {in(time.Second), in(time.Second), false, soon},
		"report due":                {in(time.Minute), in(1300 * time.Millisecond), true, 1300 * time.Millisecond},
		"deadline first":            {in(time.Second), in(3 * time.Second), true, time.Second},
		"deadline passed":           {in(-time.Second), in(3 * time.Second), true, soon},
		"report later than a beat":  {in(time.Minute), in(leastProgressInterval), true, beat},
		"report is due, but absent": {time.Time{}, in(-time.Hour), true, beat},
	} {
		if got := longestWait(now, decide.Action{Until: test.until}, test.settled, test.nextReport); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestReportsAreDueAfterTheirInterval(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 27, 8, 0, 0, 0, time.UTC)
	if !(reports{}).due(now) {
		t.Error("the first report is not due at once")
	}
	r := reports{last: now, interval: time.Second}
	if r.due(now.Add(time.Second-1)) || !r.due(now.Add(time.Second)) {
		t.Error("a report is not due exactly an interval after the last")
	}
}

func TestUnreachableClients(t *testing.T) {
	t.Parallel()
	keys := []decide.ClientKey{{Target: "data", Index: 2}, {Target: "data", Index: 4}, {Target: "data", Index: 5}}
	for _, test := range []struct {
		keys []decide.ClientKey
		want string
	}{
		{nil, ""},
		{keys[:1], "; 1 of 6 clients do not answer (data/2)"},
		{keys, "; 3 of 6 clients do not answer (data/2, data/4 and 1 more)"},
	} {
		if got := unreachableClients(test.keys, 6); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

func TestAbsentees(t *testing.T) {
	t.Parallel()
	client := func(index int, connection decide.Connection, why string) decide.Client {
		return decide.Client{Key: decide.ClientKey{Target: "data", Index: index}, Connection: connection, Message: why}
	}
	clients := []decide.Client{client(0, decide.Ready, ""), client(1, decide.Connecting, "pulling its image")}
	for i := 2; i < 6; i++ {
		clients = append(clients, client(i, decide.Connecting, "Insufficient cpu"))
	}
	const want = "waiting for 5 of 6 clients: Insufficient cpu (data/2, data/3 and 2 more); pulling its image (data/1)"
	if got := unconnectedClients(clients); got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if got := unconnectedClients(clients[:1]); got != "" {
		t.Errorf("no client is absent: %q", got)
	}
}
