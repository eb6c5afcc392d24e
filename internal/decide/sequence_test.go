package decide_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/storagebench/storagebench/internal/decide"
)

var update = flag.Bool("update", false, "write the golden files anew")

// world simulates clients and the recorded facts of a run: what actions do, and what happens by
// itself at given times. It stands for agents and conductor and is checked against them by the
// tests of the packages agent and local, which run the real ones.
type world struct {
	now      time.Time
	began    time.Time
	snapshot decide.Snapshot
	clients  []*decide.Client
	events   []event
	log      []string
	// shuffle gives the order in which clients answer; nil keeps their own.
	shuffle *rand.Rand
	// refuse and fail are clients that refuse to load, or whose tool fails, in an attempt.
	refuse, fail map[string]bool
	// deaf clients never end a step; silent ones never get ready.
	deaf, silent map[string]bool
}

type event struct {
	at   time.Duration
	name string
	do   func(*world)
}

const lead = 500 * time.Millisecond

func newWorld(targets, clients int, steps ...decide.Step) *world {
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	w := &world{now: start, began: start, refuse: map[string]bool{}, fail: map[string]bool{},
		deaf: map[string]bool{}, silent: map[string]bool{}}
	w.snapshot = decide.Snapshot{
		Steps:   steps,
		Begun:   start,
		Records: map[string]decide.Record{},
		Policy: decide.Policy{OnLoss: decide.RestartStep, MaxRestarts: 1, StartTimeout: time.Minute,
			StartLead: lead, StopGrace: 30 * time.Second, FinishTimeout: time.Minute},
	}
	for _, step := range steps {
		w.snapshot.Records[step.ID] = decide.Record{Attempt: 1}
	}
	for target := range targets {
		for index := range clients {
			key := decide.ClientKey{Target: string(rune('a' + target)), Index: index}
			w.clients = append(w.clients, w.fresh(key, 0))
		}
	}
	return w
}

// fresh is a client that becomes ready after a while.
func (w *world) fresh(key decide.ClientKey, replacements int) *decide.Client {
	client := &decide.Client{Key: key, Connection: decide.Connecting, Message: "starting", Since: w.now,
		Replacements: replacements, Attempts: map[decide.Attempt]decide.ClientStep{}}
	w.after(2*time.Second, "", func(w *world) {
		if client.Connection == decide.Connecting && !w.silent[key.String()] {
			client.Connection = decide.Ready
		}
	})
	return client
}

func (w *world) after(delay time.Duration, name string, do func(*world)) {
	w.events = append(w.events, event{at: w.now.Sub(w.began) + delay, name: name, do: do})
}

func (w *world) client(key decide.ClientKey) *decide.Client {
	return w.clients[slices.IndexFunc(w.clients, func(c *decide.Client) bool { return c.Key == key })]
}

func (w *world) note(format string, arguments ...any) {
	w.log = append(w.log, fmt.Sprintf("%8.3fs  ", w.now.Sub(w.began).Seconds())+fmt.Sprintf(format, arguments...))
}

// run decides, acts and lets time pass until nothing is left to do.
func (w *world) run(t *testing.T) string {
	t.Helper()
	for range 500 {
		w.snapshot.Clients = nil
		for _, client := range w.clients {
			w.snapshot.Clients = append(w.snapshot.Clients, *client)
		}
		action := decide.Next(w.snapshot, w.now)
		if again := decide.Next(w.snapshot, w.now); !cmp.Equal(action, again) {
			t.Fatalf("the same facts gave %v and then %v", action, again)
		}
		if action.Kind == decide.Done {
			w.note("%s", action)
			return strings.Join(w.log, "\n") + "\n"
		}
		if action.Kind != decide.Wait {
			w.note("%s", action)
		}
		if w.apply(action) {
			continue
		}
		w.pass(t, action.Until)
	}
	t.Fatalf("no end after 500 decisions:\n%s", strings.Join(w.log, "\n"))
	return ""
}

// pass moves the time on to the next event, or to the time that the action named.
func (w *world) pass(t *testing.T, until time.Time) {
	t.Helper()
	next := -1
	for i, e := range w.events {
		if next < 0 || e.at < w.events[next].at {
			next = i
		}
	}
	if next < 0 || !until.IsZero() && w.began.Add(w.events[next].at).After(until) {
		if until.IsZero() {
			t.Fatalf("nothing is left to happen, and no time to wait for:\n%s", strings.Join(w.log, "\n"))
		}
		w.now = until
		return
	}
	e := w.events[next]
	w.events = slices.Delete(w.events, next, next+1)
	if at := w.began.Add(e.at); at.After(w.now) {
		w.now = at
	}
	if e.name != "" {
		w.note("# %s", e.name)
	}
	e.do(w)
}

// apply does what the runner does; true when facts changed at once.
func (w *world) apply(action decide.Action) bool {
	keys := slices.Clone(action.Clients)
	if w.shuffle != nil {
		w.shuffle.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	}
	switch action.Kind {
	case decide.Wait, decide.Done:
	case decide.Load:
		for i, key := range keys {
			w.load(action.Attempt, key, time.Duration(i+1)*10*time.Millisecond)
		}
	case decide.Start:
		record := w.snapshot.Records[action.Attempt.Step]
		record.Start, record.Deadline = action.Start, action.Deadline
		w.snapshot.Records[action.Attempt.Step] = record
		for i, key := range keys {
			w.start(action, key, time.Duration(i)*5*time.Millisecond)
		}
	case decide.Stop:
		for _, key := range keys {
			w.stop(action.Attempt, key)
		}
	case decide.RecordResult:
		record := w.snapshot.Records[action.Attempt.Step]
		record.Done = true
		w.snapshot.Records[action.Attempt.Step] = record
		return true
	case decide.Retry:
		w.snapshot.Records[action.Attempt.Step] = decide.Record{Attempt: action.Attempt.Number}
		return true
	case decide.Replace:
		for _, key := range keys {
			*w.client(key) = *w.fresh(key, w.client(key).Replacements+1)
			w.revive(key)
		}
	case decide.Fail:
		w.snapshot.Failure, w.snapshot.EndingSince = action.Failure, w.now
		return true
	case decide.Finish:
		w.snapshot.FinishSent = w.now
		for i, key := range keys {
			w.after(time.Duration(i+1)*100*time.Millisecond, "", func(w *world) { w.client(key).Connection = decide.Finished })
		}
	}
	return false
}

// revive makes the client in its place ready after a while: fresh made the event for a copy.
func (w *world) revive(key decide.ClientKey) {
	w.after(2*time.Second, "", func(w *world) {
		if c := w.client(key); c.Connection == decide.Connecting {
			c.Connection = decide.Ready
		}
	})
}

func (w *world) load(attempt decide.Attempt, key decide.ClientKey, delay time.Duration) {
	w.client(key).Attempts[attempt] = decide.ClientStep{Progress: decide.Loading}
	w.after(delay, "", func(w *world) {
		client := w.client(key)
		if _, known := client.Attempts[attempt]; !known {
			return
		}
		part := decide.ClientStep{Progress: decide.Loaded}
		if w.refuse[key.String()] {
			part = decide.ClientStep{Progress: decide.Refused,
				Failed: &decide.Failure{Reason: "NoSpace", Message: "too little free space"}}
		}
		client.Attempts[attempt] = part
	})
}

func (w *world) start(action decide.Action, key decide.ClientKey, delay time.Duration) {
	client := w.client(key)
	client.Attempts[action.Attempt] = decide.ClientStep{Progress: decide.Running}
	length := action.Deadline.Sub(action.Start) - time.Second
	failed := w.fail[key.String()]
	if failed {
		length = time.Second
	}
	w.after(action.Start.Sub(w.now)+length+delay, "", func(w *world) {
		client := w.client(key)
		if part := client.Attempts[action.Attempt]; part.Progress != decide.Running || w.deaf[key.String()] {
			return
		}
		part := decide.ClientStep{Progress: decide.Ended}
		if failed {
			part.Failed = &decide.Failure{Reason: "IOError", Message: "fio: Input/output error"}
		}
		client.Attempts[action.Attempt] = part
	})
}

func (w *world) stop(attempt decide.Attempt, key decide.ClientKey) {
	if w.deaf[key.String()] {
		return
	}
	w.after(300*time.Millisecond, "", func(w *world) {
		client := w.client(key)
		if part, known := client.Attempts[attempt]; known && part.Failed == nil {
			client.Attempts[attempt] = decide.ClientStep{Progress: decide.Ended}
		}
	})
}

func (w *world) lose(key decide.ClientKey) func(*world) {
	return func(w *world) {
		client := w.client(key)
		client.Connection, client.Message = decide.Lost, "its process ended: signal: killed"
	}
}

// told ends a client as its pod is that somebody deletes: its part of what runs, at once, and the client
// itself when its data is removed.
func (w *world) told(key decide.ClientKey, patience time.Duration) func(*world) {
	return func(w *world) {
		client := w.client(key)
		for attempt, part := range client.Attempts {
			if part.Progress == decide.Loaded || part.Progress == decide.Running {
				client.Attempts[attempt] = decide.ClientStep{Progress: decide.Ended, Left: true}
			}
		}
		w.after(patience, key.String()+" is gone", w.lose(key))
	}
}

func steps() []decide.Step {
	return []decide.Step{
		{ID: "00-layout", Targets: []string{"a"}, Limit: 20 * time.Second},
		{ID: "01-write", Targets: []string{"a"}, Limit: 11 * time.Second},
		{ID: "02-read", Targets: []string{"a"}, Limit: 11 * time.Second},
	}
}

func key(index int) decide.ClientKey { return decide.ClientKey{Target: "a", Index: index} }

// sequences are whole runs, each under its name in testdata.
var sequences = map[string]func() *world{
	"good": func() *world { return newWorld(1, 2, steps()...) },
	"two-targets": func() *world {
		return newWorld(2, 2,
			decide.Step{ID: "00-write", Targets: []string{"a", "b"}, Limit: 11 * time.Second},
			decide.Step{ID: "01-read-a", Targets: []string{"a"}, Limit: 11 * time.Second},
			decide.Step{ID: "01-read-b", Targets: []string{"b"}, ClientsPerTarget: 1, Limit: 11 * time.Second})
	},
	"agent-never-ready": func() *world {
		w := newWorld(1, 2, steps()...)
		w.silent["a/1"] = true
		return w
	},
	"load-refused": func() *world {
		w := newWorld(1, 3, steps()...)
		w.refuse["a/1"] = true
		return w
	},
	"tool-fails": func() *world {
		w := newWorld(1, 3, steps()...)
		w.fail["a/2"] = true
		return w
	},
	"cancelled": func() *world {
		w := newWorld(1, 2, steps()...)
		w.after(25*time.Second, "interrupted", func(w *world) {
			w.snapshot.Cancel, w.snapshot.EndingSince = &decide.Failure{Reason: "Stopped", Message: "interrupted"}, w.now
		})
		return w
	},
	"cancelled-before-ready": func() *world {
		w := newWorld(1, 2, steps()...)
		w.after(time.Second, "interrupted", func(w *world) {
			w.snapshot.Cancel, w.snapshot.EndingSince = &decide.Failure{Reason: "Stopped", Message: "interrupted"}, w.now
		})
		return w
	},
	"lost-and-replaced": func() *world {
		w := newWorld(1, 3, steps()...)
		w.after(30*time.Second, "a/1 dies", w.lose(key(1)))
		return w
	},
	"lost-twice": func() *world {
		w := newWorld(1, 2, steps()...)
		w.after(30*time.Second, "a/1 dies", w.lose(key(1)))
		w.after(38*time.Second, "a/1 dies again", w.lose(key(1)))
		return w
	},
	"lost-before-start": func() *world {
		w := newWorld(1, 2, steps()...)
		w.after(2005*time.Millisecond, "a/0 dies", w.lose(key(0)))
		return w
	},
	"lost-after-its-part": func() *world {
		w := newWorld(1, 2, steps()...)
		// a/0 ends the second step 5 ms before a/1 does.
		w.after(32047*time.Millisecond, "a/0 dies", w.lose(key(0)))
		return w
	},
	"told-to-end": func() *world {
		w := newWorld(1, 2, steps()...)
		w.after(30*time.Second, "a/1 is told to end", w.told(key(1), time.Second))
		return w
	},
	// Nobody else is at work, so the step has ended before the client is gone.
	"told-to-end-alone": func() *world {
		w := newWorld(1, 1, steps()...)
		w.after(30*time.Second, "a/0 is told to end", w.told(key(0), 5*time.Second))
		return w
	},
	"told-to-end-fail-run": func() *world {
		w := newWorld(1, 2, steps()...)
		w.snapshot.Policy.OnLoss = decide.FailRun
		w.after(30*time.Second, "a/1 is told to end", w.told(key(1), 5*time.Second))
		return w
	},
	"told-to-end-continue": func() *world {
		w := newWorld(1, 2, steps()...)
		w.snapshot.Policy.OnLoss = decide.ContinueDegraded
		w.after(30*time.Second, "a/1 is told to end", w.told(key(1), 5*time.Second))
		return w
	},
	"lost-fail-run": func() *world {
		w := newWorld(1, 2, steps()...)
		w.snapshot.Policy.OnLoss = decide.FailRun
		w.after(30*time.Second, "a/1 dies", w.lose(key(1)))
		return w
	},
	"lost-continue": func() *world {
		w := newWorld(1, 2, steps()...)
		w.snapshot.Policy.OnLoss = decide.ContinueDegraded
		w.after(30*time.Second, "a/1 dies", w.lose(key(1)))
		return w
	},
	"lost-continue-none-left": func() *world {
		w := newWorld(1, 1, steps()...)
		w.snapshot.Policy.OnLoss = decide.ContinueDegraded
		w.after(30*time.Second, "a/0 dies", w.lose(key(0)))
		return w
	},
	"active-deadline": func() *world {
		w := newWorld(1, 2, steps()...)
		w.snapshot.Policy.ActiveDeadline = 25 * time.Second
		return w
	},
	"lost-and-another-hangs": func() *world {
		w := newWorld(1, 3, steps()...)
		w.snapshot.Policy.ActiveDeadline = 3 * time.Minute
		w.deaf["a/2"] = true
		w.after(10*time.Second, "a/1 dies", w.lose(key(1)))
		return w
	},
	"agent-never-ends": func() *world {
		w := newWorld(1, 2, steps()...)
		w.after(30*time.Second, "a/1 hangs", func(w *world) { w.deaf["a/1"] = true })
		return w
	},
}

func TestSequences(t *testing.T) {
	for name, build := range sequences {
		t.Run(name, func(t *testing.T) {
			got := build().run(t)
			golden := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("sequence differs (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAnyOrderEndsAlike lets clients answer in random orders: every run ends, with the same verdict
// as in the golden order, and nobody is left running.
func TestAnyOrderEndsAlike(t *testing.T) {
	for name, build := range sequences {
		t.Run(name, func(t *testing.T) {
			reference := build()
			reference.run(t)
			for seed := range uint64(50) {
				w := build()
				w.shuffle = rand.New(rand.NewPCG(seed, seed))
				w.run(t)
				if (w.snapshot.Failure == nil) != (reference.snapshot.Failure == nil) {
					t.Fatalf("seed %d: failure %v, in the golden order %v", seed, w.snapshot.Failure, reference.snapshot.Failure)
				}
				for _, client := range w.clients {
					for attempt, part := range client.Attempts {
						live := part.Progress == decide.Loaded || part.Progress == decide.Running
						if live && client.Connection == decide.Ready && !w.deaf[client.Key.String()] {
							t.Errorf("seed %d: %s is left %s on %s", seed, attempt, part.Progress, client.Key)
						}
					}
				}
			}
		})
	}
}

// TestStartIsSentAgainUnchanged is a conductor that died between recording a start and telling all
// clients: the one that did not hear is told the same instant, though it has passed. It is the
// client that knows whether that is too late.
func TestStartIsSentAgainUnchanged(t *testing.T) {
	w := newWorld(1, 2, steps()...)
	begin := w.now.Add(10 * time.Second)
	w.snapshot.Records["00-layout"] = decide.Record{Attempt: 1, Start: begin, Deadline: begin.Add(time.Minute)}
	attempt := decide.Attempt{Step: "00-layout", Number: 1}
	for i, progress := range []decide.Progress{decide.Running, decide.Loaded} {
		w.clients[i].Connection = decide.Ready
		w.clients[i].Attempts[attempt] = decide.ClientStep{Progress: progress}
		w.snapshot.Clients = append(w.snapshot.Clients, *w.clients[i])
	}
	got := decide.Next(w.snapshot, w.now.Add(30*time.Second))
	want := decide.Action{Kind: decide.Start, Attempt: attempt, Clients: []decide.ClientKey{key(1)},
		Start: begin, Deadline: begin.Add(time.Minute)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("after a restart (-want +got):\n%s", diff)
	}
}

// TestMissedStart is a client that says that it was told too late: the step begins anew, twice at most.
func TestMissedStart(t *testing.T) {
	missed := &decide.Failure{Reason: decide.ReasonStartMissed, Message: "the order came 1s late"}
	broken := &decide.Failure{Reason: "NoSpace", Message: "the disk is full"}
	for name, c := range map[string]struct {
		attempt       int
		first, second decide.ClientStep
		want          decide.Kind
		of            int
	}{
		"once":                       {1, decide.ClientStep{Progress: decide.Running}, decide.ClientStep{Progress: decide.Ended, Failed: missed}, decide.Retry, 2},
		"the third time it fails":    {3, decide.ClientStep{Progress: decide.Ended}, decide.ClientStep{Progress: decide.Ended, Failed: missed}, decide.Fail, 3},
		"another has a real failure": {1, decide.ClientStep{Progress: decide.Ended, Failed: broken}, decide.ClientStep{Progress: decide.Ended, Failed: missed}, decide.Fail, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(1, 2, steps()...)
			w.snapshot.Records["00-layout"] = decide.Record{Attempt: c.attempt, Start: w.now, Deadline: w.now.Add(time.Minute)}
			for i, part := range []decide.ClientStep{c.first, c.second} {
				w.clients[i].Connection = decide.Ready
				w.clients[i].Attempts[decide.Attempt{Step: "00-layout", Number: c.attempt}] = part
				w.snapshot.Clients = append(w.snapshot.Clients, *w.clients[i])
			}
			got := decide.Next(w.snapshot, w.now.Add(time.Second))
			if got.Kind != c.want || got.Attempt.Number != c.of {
				t.Errorf("%s %s, want %s of attempt %d", got.Kind, got.Attempt, c.want, c.of)
			}
		})
	}
}

// TestLaterStartsAreFartherOff: whoever was told too late is given more time at the next attempt.
func TestLaterStartsAreFartherOff(t *testing.T) {
	for attempt, want := range map[int]time.Duration{1: lead, 2: 4 * lead, 3: 16 * lead, 9: 16 * lead} {
		w := newWorld(1, 1, steps()...)
		w.snapshot.Records["00-layout"] = decide.Record{Attempt: attempt}
		w.clients[0].Connection = decide.Ready
		w.clients[0].Attempts[decide.Attempt{Step: "00-layout", Number: attempt}] = decide.ClientStep{Progress: decide.Loaded}
		w.snapshot.Clients = []decide.Client{*w.clients[0]}
		got := decide.Next(w.snapshot, w.now)
		if got.Kind != decide.Start || got.Start.Sub(w.now) != want || got.Deadline.Sub(got.Start) != steps()[0].Limit {
			t.Errorf("attempt %d: %s in %s, want %s", attempt, got.Kind, got.Start.Sub(w.now), want)
		}
	}
}

// TestLeftAttemptIsStopped: whoever is still at an earlier attempt is told to stop before the step is
// loaded anew.
func TestLeftAttemptIsStopped(t *testing.T) {
	w := newWorld(1, 2, steps()...)
	w.snapshot.Records["00-layout"] = decide.Record{Attempt: 2}
	old := decide.Attempt{Step: "00-layout", Number: 1}
	for i, progress := range []decide.Progress{decide.Running, decide.Loaded} {
		w.clients[i].Connection = decide.Ready
		w.clients[i].Attempts[old] = decide.ClientStep{Progress: progress}
		w.snapshot.Clients = append(w.snapshot.Clients, *w.clients[i])
	}
	want := decide.Action{Kind: decide.Stop, Attempt: old, Clients: []decide.ClientKey{key(1), key(0)}}
	if diff := cmp.Diff(want, decide.Next(w.snapshot, w.now)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, client := range w.clients {
		client.Attempts[old] = decide.ClientStep{Progress: decide.Ended}
	}
	want = decide.Action{Kind: decide.Load, Attempt: decide.Attempt{Step: "00-layout", Number: 2}, Clients: []decide.ClientKey{key(0), key(1)}}
	if diff := cmp.Diff(want, decide.Next(w.snapshot, w.now)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
