package decide_test

import (
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/decide"
)

// world simulates the clients and the recorded facts of a run: it applies actions and lets events happen at given
// times. It replaces agents and conductor; the tests of the packages agent and local check that the real ones behave in
// the same way. Each action is checked against the rules in rules_test.go.
type world struct {
	now      time.Time
	began    time.Time
	snapshot decide.Snapshot
	clients  []*decide.Client
	events   []event
	log      []string
	// shuffle randomizes the order in which clients answer. nil keeps their order.
	shuffle *rand.Rand
	// jitter delays answers. nil does not delay them.
	jitter *rand.Rand
	// Clients in refuse refuse to load, and the tool of clients in fail fails. Clients in late receive the start too late,
	// once. Keys are "a/1", or "a/1 STEP" for that step alone.
	refuse, fail, late map[string]bool
	// deaf clients never end an attempt that they have begun. silent clients never become ready.
	deaf, silent map[string]bool
	// enough is the time after its start at which an attempt has measured enough, by step.
	enough map[string]time.Duration
	// onStart and onLoad are called when a step is first started or loaded.
	onStart, onLoad map[string]func(*world)
	// onRecord is called when a step has its result.
	onRecord map[string]func(*world)
	// unmet has the clients that a new conductor has not reached yet.
	unmet map[decide.ClientKey]bool
	// crashes is the remaining number of times that the conductor dies during an action. jitter selects the actions.
	crashes int
	// awake is the time at which a hanging conductor decides again. hung is the total time that it hung.
	awake time.Time
	hung  time.Duration
	// touched has the attempts with I/O, missed the attempts that a client started too late, and starts the start of each
	// attempt. Decisions do not see them, but are checked against them.
	touched map[decide.Attempt]bool
	missed  map[decide.Attempt]bool
	starts  map[decide.Attempt]time.Time
	// jobs holds the clients whose addresses an MPI job was loaded with, by launcher and attempt.
	jobs map[string][]*decide.Client
}

type event struct {
	at   time.Duration
	name string
	do   func(*world)
}

const lead = 500 * time.Millisecond

func newWorld(targets, clients int, steps ...decide.Step) *world {
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	none := func() map[string]bool { return map[string]bool{} }
	w := &world{now: start, began: start, refuse: none(), fail: none(), late: none(), deaf: none(), silent: none(),
		touched: map[decide.Attempt]bool{}, missed: map[decide.Attempt]bool{}, starts: map[decide.Attempt]time.Time{},
		unmet: map[decide.ClientKey]bool{}, jobs: map[string][]*decide.Client{}, enough: map[string]time.Duration{},
		onStart: map[string]func(*world){}, onLoad: map[string]func(*world){}, onRecord: map[string]func(*world){}}
	w.snapshot = decide.Snapshot{
		Steps:   steps,
		Begun:   start,
		Records: map[string]decide.Record{},
		LostAt:  map[decide.ClientKey]time.Time{},
		Enough:  map[decide.Attempt]string{},
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

// fresh returns a client that becomes ready after two seconds unless it is silent.
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

// answer calls do a while after the client received a command, unless the client is gone by then.
func (w *world) answer(client *decide.Client, delay time.Duration, do func()) {
	if w.jitter != nil {
		delay += time.Duration(w.jitter.Int64N(int64(300 * time.Millisecond)))
		if w.jitter.IntN(10) == 0 {
			delay += time.Duration(w.jitter.Int64N(int64(8 * time.Second)))
		}
	}
	w.after(delay, "", func(*world) {
		if client.Connection != decide.Lost && client.Connection != decide.Finished {
			do()
		}
	})
}

func (w *world) client(key decide.ClientKey) *decide.Client {
	return w.clients[slices.IndexFunc(w.clients, func(c *decide.Client) bool { return c.Key == key })]
}

// step returns the step with the given ID, or an empty step.
func (w *world) step(id string) decide.Step {
	for _, step := range w.snapshot.Steps {
		if step.ID == id {
			return step
		}
	}
	return decide.Step{}
}

func (w *world) note(format string, arguments ...any) {
	w.log = append(w.log, fmt.Sprintf("%8.3fs  ", w.now.Sub(w.began).Seconds())+fmt.Sprintf(format, arguments...))
}

// seen returns the clients as the conductor sees them.
func (w *world) seen() []decide.Client {
	var seen []decide.Client
	for _, client := range w.clients {
		one := *client
		if w.unmet[one.Key] && one.Connection != decide.Lost {
			one.Connection, one.Since, one.Attempts = decide.Connecting, w.snapshot.ConductedSince, nil
		}
		seen = append(seen, one)
	}
	return seen
}

// run calls walk and fails the test if a rule is broken.
func (w *world) run(t *testing.T) string {
	t.Helper()
	log, err := w.walk()
	if err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	return log
}

// walk decides, acts and lets time pass until the run is done, and returns the log.
func (w *world) walk() (log string, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = &broken{rule: "no decision panics", how: fmt.Sprintf("%v\n%s", fault, debug.Stack())}
		}
		if log == "" {
			log = strings.Join(w.log, "\n") + "\n"
		}
	}()
	for range 3000 {
		for w.now.Before(w.awake) {
			w.pass(w.awake)
		}
		w.snapshot.Clients = w.seen()
		action := decide.Next(w.snapshot, w.now)
		if action.Kind != decide.Wait {
			w.note("%s", action)
		}
		if err := w.check(action); err != nil {
			return "", err
		}
		switch {
		case action.Kind == decide.Done:
			return strings.Join(w.log, "\n") + "\n", w.stays()
		case w.crash(action), w.apply(action):
		case !w.pass(action.Until):
			return "", &broken{rule: "every wait ends", how: "nothing is left to happen, and no time to wait for"}
		}
	}
	return "", &broken{rule: "every run ends", how: "it has not after 3000 decisions"}
}

// stays lets the remaining events happen after the end of a run and checks that the end is final.
func (w *world) stays() error {
	for range 20 {
		w.pass(w.now.Add(time.Hour))
		w.snapshot.Clients = w.seen()
		if action := decide.Next(w.snapshot, w.now); action.Kind != decide.Done && len(w.unmet) == 0 {
			return &broken{rule: "an end is final", how: fmt.Sprintf("%s after Done", action)}
		}
	}
	return nil
}

// pass advances the time to the next event or to the given time, if that is earlier. It returns false if there is
// neither.
func (w *world) pass(until time.Time) bool {
	next := -1
	for i, e := range w.events {
		if next < 0 || e.at < w.events[next].at {
			next = i
		}
	}
	if next < 0 || !until.IsZero() && w.began.Add(w.events[next].at).After(until) {
		if until.IsZero() {
			return false
		}
		w.now = until
		return true
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
	return true
}

// apply executes an action as the runner does. It returns true if recorded facts changed at once.
func (w *world) apply(action decide.Action) bool {
	keys := slices.Clone(action.Clients)
	if w.shuffle != nil {
		w.shuffle.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	}
	id := action.Attempt.Step
	record := w.snapshot.Records[id]
	switch action.Kind {
	case decide.Wait, decide.Done:
	case decide.Load:
		for i, key := range keys {
			w.load(action.Attempt, w.client(key), time.Duration(i+1)*10*time.Millisecond)
		}
		w.once(w.onLoad, id)
	case decide.Start:
		if record.Start.IsZero() {
			w.begin(action)
		}
		for i, key := range keys {
			w.start(action, w.client(key), time.Duration(i)*5*time.Millisecond)
		}
		return len(keys) == 0
	case decide.Conclude:
		record.Concluded = w.now
		w.snapshot.Records[id] = record
		w.stop(action.Attempt, keys)
	case decide.Stop:
		w.stop(action.Attempt, keys)
	case decide.RecordResult:
		record.Done = true
		w.snapshot.Records[id] = record
		w.once(w.onRecord, id)
		return true
	case decide.Retry:
		w.snapshot.Records[id] = decide.Record{Attempt: action.Attempt.Number}
		return true
	case decide.Replace:
		for _, key := range keys {
			delete(w.unmet, key)
			delete(w.snapshot.LostAt, key)
			w.clients[slices.Index(w.clients, w.client(key))] = w.fresh(key, w.client(key).Replacements+1)
		}
	case decide.Fail:
		w.snapshot.Failure, w.snapshot.EndingSince = action.Failure, w.now
		return true
	case decide.Finish:
		w.snapshot.FinishSent = w.now
		for i, key := range keys {
			w.finish(w.client(key), time.Duration(i+1)*100*time.Millisecond)
		}
	case decide.Observe:
		w.snapshot.Observing.Begun, w.snapshot.Observing.Ended = w.now, true
	case decide.RecordObservations:
		w.snapshot.Observing = decide.Observing{}
		return true
	}
	return false
}

func (w *world) finish(client *decide.Client, delay time.Duration) {
	w.answer(client, delay, func() { client.Connection = decide.Finished })
}

// crash may let the conductor die during an action: before the action is recorded, or when only some of the clients
// have their commands. It returns false if the conductor survives.
func (w *world) crash(action decide.Action) bool {
	if w.crashes == 0 || action.Kind == decide.Wait || w.jitter.IntN(10) != 0 {
		return false
	}
	w.crashes--
	if w.jitter.IntN(2) == 0 {
		switch action.Kind {
		case decide.Load, decide.Start, decide.Stop, decide.Conclude, decide.Finish:
			keys := slices.Clone(action.Clients)
			w.jitter.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
			action.Clients = keys[:w.jitter.IntN(len(keys)+1)]
		case decide.Wait, decide.RecordResult, decide.Retry, decide.Replace, decide.Fail, decide.Observe, decide.RecordObservations, decide.Done:
		}
		w.apply(action)
		w.note("# the conductor dies at the commands to the others and comes back")
	} else {
		w.note("# the conductor dies before that and comes back")
	}
	comeBack(w)
	return true
}

// once calls what is registered for a step, the first time only.
func (w *world) once(waiting map[string]func(*world), id string) {
	if do := waiting[id]; do != nil {
		delete(waiting, id)
		do(w)
	}
}

// begin records that an attempt is to be started.
func (w *world) begin(action decide.Action) {
	record := w.snapshot.Records[action.Attempt.Step]
	record.Start, record.Deadline = action.Start, action.Deadline
	w.starts[action.Attempt] = action.Start
	w.snapshot.Records[action.Attempt.Step] = record
	if delay, known := w.enough[action.Attempt.Step]; known {
		w.after(action.Start.Sub(w.now)+delay, "enough is measured in "+action.Attempt.String(), func(w *world) {
			w.snapshot.Enough[action.Attempt] = "the baseline is known well enough"
		})
	}
	w.once(w.onStart, action.Attempt.Step)
}

func (w *world) load(attempt decide.Attempt, client *decide.Client, delay time.Duration) {
	if _, again := client.Attempts[attempt]; again {
		return
	}
	client.Attempts[attempt] = decide.ClientStep{Progress: decide.Loading}
	if client.Key.Index == 0 && w.step(attempt.Step).Coupled {
		w.jobs[jobOf(attempt, client.Key)] = slices.Clone(w.clients)
	}
	w.answer(client, delay, func() {
		part := client.Attempts[attempt]
		if part.Progress != decide.Loading {
			return
		}
		part.Progress = decide.Loaded
		if w.does(w.refuse, client, attempt) {
			part = decide.ClientStep{Progress: decide.Refused,
				Failed: &decide.Failure{Reason: "NoSpace", Message: "too little free space"}}
		}
		client.Attempts[attempt] = part
	})
}

// jobOf returns the name of the MPI job of a client's target in an attempt.
func jobOf(attempt decide.Attempt, key decide.ClientKey) string {
	return attempt.String() + " on " + key.Target
}

func (w *world) does(what map[string]bool, client *decide.Client, attempt decide.Attempt) bool {
	return what[client.Key.String()] || what[client.Key.String()+" "+attempt.Step]
}

func (w *world) start(action decide.Action, client *decide.Client, delay time.Duration) {
	attempt := action.Attempt
	if client.Attempts[attempt].Progress != decide.Loaded {
		return
	}
	if w.does(w.late, client, attempt) {
		delete(w.late, client.Key.String()+" "+attempt.Step)
		w.missed[attempt] = true
		w.answer(client, delay, func() {
			client.Attempts[attempt] = decide.ClientStep{Progress: decide.Ended,
				Failed: &decide.Failure{Reason: decide.ReasonStartMissed, Message: "the order came 1s late"}}
		})
		return
	}
	client.Attempts[attempt] = decide.ClientStep{Progress: decide.Running}
	w.after(action.Start.Sub(w.now), "", func(w *world) {
		if client.Attempts[attempt].Progress == decide.Running {
			w.touched[attempt] = true
		}
	})
	length := action.Deadline.Sub(action.Start) - time.Second
	failed := w.does(w.fail, client, attempt)
	if failed {
		length = time.Second
	}
	w.answer(client, action.Start.Sub(w.now)+length+delay, func() {
		if client.Attempts[attempt].Progress != decide.Running || w.does(w.deaf, client, attempt) {
			return
		}
		part := decide.ClientStep{Progress: decide.Ended}
		if failed {
			part.Failed = &decide.Failure{Reason: "IOError", Message: "fio: Input/output error"}
		}
		client.Attempts[attempt] = part
	})
}

func (w *world) stop(attempt decide.Attempt, keys []decide.ClientKey) {
	for _, key := range keys {
		client := w.client(key)
		if w.does(w.deaf, client, attempt) && client.Attempts[attempt].Progress == decide.Running {
			continue
		}
		w.answer(client, 300*time.Millisecond, func() {
			if live(client.Attempts[attempt]) {
				client.Attempts[attempt] = decide.ClientStep{Progress: decide.Ended}
			}
		})
	}
}

// live reports whether a client has an attempt loaded or running.
func live(part decide.ClientStep) bool {
	return part.Progress == decide.Loaded || part.Progress == decide.Running
}

// lose loses the client that has the given key when the event happens.
func (w *world) lose(key decide.ClientKey) func(*world) {
	return func(w *world) {
		w.gone(w.client(key))
	}
}

// gone loses a client. A conductor that had not reached it yet does not know what it has done.
func (w *world) gone(client *decide.Client) {
	w.breakJob(client.Key, peerLost(client.Key))
	client.Connection, client.Message = decide.Lost, "its process exited: signal: killed"
	w.snapshot.LostAt[client.Key] = w.now
	if w.unmet[client.Key] {
		client.Attempts = map[decide.Attempt]decide.ClientStep{}
	}
}

// told ends a client as if its pod were deleted: its attempts end at once, and the client is gone after the time that
// the removal of its data takes.
func (w *world) told(key decide.ClientKey, patience time.Duration) func(*world) {
	return func(w *world) {
		client := w.client(key)
		for attempt, part := range client.Attempts {
			if live(part) {
				client.Attempts[attempt] = decide.ClientStep{Progress: decide.Ended, AgentTerminated: true}
			}
		}
		w.after(patience, key.String()+" is gone", func(w *world) { w.gone(client) })
	}
}

// cancel cancels the run.
func cancel(w *world) {
	if w.snapshot.Cancel == nil && w.snapshot.Failure == nil {
		w.snapshot.Cancel, w.snapshot.EndingSince = &decide.Failure{Reason: "Stopped", Message: "interrupted"}, w.now
	}
}

// comeBack replaces the conductor. The new one must reach the clients again and does not know what lost clients had
// done. It starts only when a hang of the old one is over.
func comeBack(w *world) {
	if w.jitter != nil && w.jitter.IntN(4) == 0 {
		hang(time.Duration(w.jitter.Int64N(int64(90 * time.Second))))(w)
	}
	away := max(0, w.awake.Sub(w.now))
	w.snapshot.ConductedSince = w.now.Add(away)
	for _, client := range w.clients {
		if client.Connection == decide.Lost {
			client.Attempts = map[decide.Attempt]decide.ClientStep{}
			continue
		}
		w.unmet[client.Key] = true
		for attempt, part := range client.Attempts {
			part.Inherited = part.Progress == decide.Loading || part.Progress == decide.Loaded
			client.Attempts[attempt] = part
		}
	}
	if w.jitter == nil {
		w.after(away+1500*time.Millisecond, "the clients are met again", func(w *world) { clear(w.unmet) })
		return
	}
	// The new conductor may have to determine again that enough is measured.
	if w.jitter.IntN(2) == 0 {
		clear(w.snapshot.Enough)
	}
	for _, client := range w.clients {
		delay := time.Duration(w.jitter.Int64N(int64(5 * time.Second)))
		if w.jitter.IntN(50) == 0 {
			delay = time.Hour
		}
		w.after(away+delay, client.Key.String()+" is met again", func(w *world) { w.meet(client) })
	}
}

// meet lets a new conductor reach a client. If the run is ending, the client is told to finish again.
func (w *world) meet(client *decide.Client) {
	if w.client(client.Key) != client {
		return // replaced meanwhile
	}
	delete(w.unmet, client.Key)
	for attempt, part := range client.Attempts {
		// An agent reports a step that it was still loading as loaded, and forgets a step that it refuses.
		switch {
		case part.Progress != decide.Loading:
		case w.does(w.refuse, client, attempt):
			delete(client.Attempts, attempt)
		default:
			part.Progress = decide.Loaded
			client.Attempts[attempt] = part
		}
	}
	if !w.snapshot.FinishSent.IsZero() {
		w.finish(client, 100*time.Millisecond)
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// hang stops the conductor from deciding for a while.
func hang(length time.Duration) func(*world) {
	return func(w *world) {
		if awake := w.now.Add(length); awake.After(w.awake) {
			w.awake, w.hung = awake, w.hung+length
		}
	}
}
