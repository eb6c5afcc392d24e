package record_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/invariants"
)

// world simulates a whole run and keeps its facts three times: in a BenchmarkRun in memory, in one that is written and
// read back between every two decisions, and by hand in a snapshot. All three must always lead to the same decision.
type world struct {
	t    *testing.T
	now  time.Time
	plan plan.Plan
	// memory stays in memory; stored is the JSON of the same run.
	memory *v1alpha1.BenchmarkRun
	stored []byte
	facts  decide.Snapshot

	clients []*decide.Client
	events  []event
	log     []string
	checker invariants.Checker

	// Clients by behaviour: refuse and fail refuse to load or have a tool that fails; deaf never end a step; silent never
	// become ready; idle do nothing.
	refuse, fail, deaf, silent, idle map[string]bool
	// early holds the attempts of clients that ended too early.
	early map[string]bool
	left  []v1alpha1.DataLeft
	// takesData is true if a lost client's data is lost, too.
	takesData bool
	// enough holds the attempts that have measured enough.
	enough map[decide.Attempt]string
}

type event struct {
	at   time.Time
	name string
	do   func()
}

const lead = 64 * time.Millisecond

func newWorld(t *testing.T, benchmark *builders.BenchmarkBuilder) *world {
	t.Helper()
	run := benchmark.Run()
	planned, problems := plan.Make(run, 1)
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	none := func() map[string]bool { return map[string]bool{} }
	w := &world{t: t, now: builders.Start, plan: planned, refuse: none(), fail: none(), deaf: none(), silent: none(), early: none(), idle: none()}
	w.memory = record.New(record.Identity{Name: "b-1", Namespace: "default", UID: "0-1",
		Benchmark: v1alpha1.BenchmarkReference{Name: "b", UID: "0-0"}, Hash: "abc", Seed: 7}, run, planned)
	w.store(w.memory)
	w.both(func(r *v1alpha1.BenchmarkRun) { record.Begin(r, w.now) })
	restarts := 2
	if given := run.Clients.MaxRestarts; given != nil {
		restarts = int(*given)
	}
	timeout, _ := run.StartTimeout.Parse()
	deadline, _ := run.ActiveDeadline.Parse()
	w.facts = decide.Snapshot{
		Begun: w.now, Records: map[string]decide.Record{},
		Policy: decide.Policy{OnLoss: decide.LossPolicy(run.Clients.OnLoss), MaxRestarts: restarts, StartTimeout: timeout,
			ActiveDeadline: deadline, StartLead: record.StartLead(len(run.Targets) * planned.ClientsPerTarget), StopGrace: 2 * time.Minute, FinishTimeout: 10 * time.Minute},
	}
	for _, step := range planned.Steps {
		known := decide.Step{ID: step.ID, Targets: step.Targets, ClientsPerTarget: step.Clients, Limit: step.Limit,
			Idle: step.Purpose == plan.Idle, NonRepeatable: step.Purpose == plan.Drain}
		if step.Purpose == plan.Drain {
			known.Earliest = step.MinDuration
		}
		w.facts.Steps = append(w.facts.Steps, known)
		w.facts.Records[step.ID] = decide.Record{Attempt: 1}
	}
	for _, target := range run.Targets {
		for index := range planned.ClientsPerTarget {
			w.clients = append(w.clients, w.fresh(decide.ClientKey{Target: target.Name, Index: index}, 0))
		}
	}
	return w
}

// both applies a change to the run in memory and to the stored one.
func (w *world) both(do func(*v1alpha1.BenchmarkRun)) {
	w.t.Helper()
	do(w.memory)
	stored := w.read()
	do(stored)
	w.store(stored)
}

func (w *world) store(run *v1alpha1.BenchmarkRun) {
	w.t.Helper()
	var err error
	if w.stored, err = json.Marshal(run); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) read() *v1alpha1.BenchmarkRun {
	w.t.Helper()
	var run v1alpha1.BenchmarkRun
	if err := json.Unmarshal(w.stored, &run); err != nil {
		w.t.Fatal(err)
	}
	return &run
}

// fresh returns a new client, which becomes ready after a while.
func (w *world) fresh(key decide.ClientKey, replacements int) *decide.Client {
	client := &decide.Client{Key: key, Connection: decide.Connecting, Message: "starting", Since: w.now,
		Replacements: replacements, Attempts: map[decide.Attempt]decide.ClientStep{}}
	w.after(2*time.Second, "", func() {
		if client.Connection == decide.Connecting && !w.silent[key.String()] {
			client.Connection, client.Message = decide.Ready, ""
		}
	})
	return client
}

func (w *world) after(delay time.Duration, name string, do func()) {
	w.events = append(w.events, event{at: w.now.Add(delay), name: name, do: do})
}

func (w *world) client(key decide.ClientKey) *decide.Client {
	return w.clients[slices.IndexFunc(w.clients, func(c *decide.Client) bool { return c.Key == key })]
}

func (w *world) note(format string, arguments ...any) {
	w.log = append(w.log, fmt.Sprintf("%9.3fs  ", w.now.Sub(builders.Start).Seconds())+fmt.Sprintf(format, arguments...))
}

// run decides, acts and advances the time until the run is done.
func (w *world) run() {
	w.t.Helper()
	for range 500 {
		var seen []decide.Client
		for _, client := range w.clients {
			seen = append(seen, *client)
		}
		w.both(func(r *v1alpha1.BenchmarkRun) { record.Losses(r, seen, w.now) })
		action := w.decide(seen)
		if action.Kind == decide.Done {
			w.both(func(r *v1alpha1.BenchmarkRun) { record.Finished(r, w.left, w.now) })
			w.checker.Check(w.t, w.read())
			invariants.CheckObject(w.t, w.read())
			w.note("%s", action)
			return
		}
		if action.Kind != decide.Wait {
			w.note("%s", action)
		}
		changed := w.apply(action)
		w.checker.Check(w.t, w.read())
		if !changed {
			w.pass(action.Until)
		}
	}
	w.t.Fatalf("no end after 500 decisions:\n%s", strings.Join(w.log, "\n"))
}

// decide makes the decision from each of the three records of the facts, and compares them.
func (w *world) decide(seen []decide.Client) decide.Action {
	w.t.Helper()
	w.facts.Clients, w.facts.Enough = seen, w.enough
	action := decide.Next(w.facts, w.now)
	for name, run := range map[string]*v1alpha1.BenchmarkRun{"memory": w.memory, "stored": w.read()} {
		snapshot, err := record.Snapshot(run, w.plan, seen)
		if err != nil {
			w.t.Fatal(err)
		}
		snapshot.Enough = w.enough
		if diff := cmp.Diff(action, decide.Next(snapshot, w.now)); diff != "" {
			w.t.Fatalf("at %s the facts of the run in %s lead to another decision (-by hand +recorded):\n%s", w.now.Sub(builders.Start), name, diff)
		}
	}
	return action
}

// pass advances the time to the next event, or to the time that the action waits for.
func (w *world) pass(until time.Time) {
	w.t.Helper()
	next := -1
	for i, e := range w.events {
		if next < 0 || e.at.Before(w.events[next].at) {
			next = i
		}
	}
	if next < 0 || !until.IsZero() && until.After(w.now) && until.Before(w.events[next].at) {
		if until.IsZero() || !until.After(w.now) {
			w.t.Fatalf("nothing will ever happen:\n%s", strings.Join(w.log, "\n"))
		}
		w.now = until
		return
	}
	e := w.events[next]
	w.events = slices.Delete(w.events, next, next+1)
	if e.at.After(w.now) {
		w.now = e.at
	}
	if e.name != "" {
		w.note("# %s", e.name)
	}
	e.do()
}

// second truncates an instant as a condition does.
func second(at time.Time) time.Time { return at.Truncate(time.Second) }

// apply acts as a runner does. It returns true if the facts have changed already.
func (w *world) apply(action decide.Action) bool {
	w.t.Helper()
	switch action.Kind {
	case decide.Wait, decide.Observe, decide.RecordObservations, decide.Done:
	case decide.Load:
		for i, key := range action.Clients {
			w.load(action.Attempt, key, time.Duration(i+1)*10*time.Millisecond)
		}
	case decide.Start:
		w.facts.Records[action.Attempt.Step] = decide.Record{Attempt: action.Attempt.Number, Start: action.Start, Deadline: action.Deadline}
		w.both(func(r *v1alpha1.BenchmarkRun) {
			record.Environments(r, []v1alpha1.Environment{{Target: "a", Clients: 2, Engine: "fio", ToolVersion: "fio-3.33"}})
			record.Intent(r, w.plan.Step(action.Attempt.Step), action)
		})
		for i, key := range action.Clients {
			w.start(action, key, time.Duration(i)*5*time.Millisecond)
		}
	case decide.Conclude:
		fact := w.facts.Records[action.Attempt.Step]
		fact.Concluded = w.now
		w.facts.Records[action.Attempt.Step] = fact
		w.both(func(r *v1alpha1.BenchmarkRun) { record.Conclude(r, action, w.now) })
		for _, key := range action.Clients {
			w.stop(action.Attempt, key)
		}
	case decide.Stop:
		for _, key := range action.Clients {
			w.stop(action.Attempt, key)
		}
	case decide.RecordResult:
		fact := w.facts.Records[action.Attempt.Step]
		fact.Done = true
		w.facts.Records[action.Attempt.Step] = fact
		step := w.plan.Steps[slices.IndexFunc(w.plan.Steps, func(s plan.Step) bool { return s.ID == action.Attempt.Step })]
		reported := w.reported(step, action.Attempt)
		w.both(func(r *v1alpha1.BenchmarkRun) { record.Result(r, step, action.Attempt, reported, w.now) })
		invariants.CheckObject(w.t, w.read())
		return true
	case decide.Retry:
		w.facts.Records[action.Attempt.Step] = decide.Record{Attempt: action.Attempt.Number}
		step := w.plan.Step(action.Attempt.Step)
		reported := w.reported(step, action.Attempt.Previous())
		w.both(func(r *v1alpha1.BenchmarkRun) { record.Retry(r, step, action, reported, w.now) })
		return true
	case decide.Replace:
		for _, key := range action.Clients {
			lost := *w.client(key)
			w.both(func(r *v1alpha1.BenchmarkRun) { record.Lost(r, lost, true, w.now) })
			if w.takesData {
				w.facts.Records["00-layout"] = decide.Record{Attempt: w.facts.Records["00-layout"].Attempt + 1}
				w.both(func(r *v1alpha1.BenchmarkRun) { record.Relayout(r, key.Target) })
			}
			w.clients[slices.Index(w.clients, w.client(key))] = w.fresh(key, lost.Replacements+1)
		}
	case decide.Fail:
		w.facts.Failure, w.facts.EndingSince = action.Failure, second(w.now)
		w.both(func(r *v1alpha1.BenchmarkRun) { record.Fail(r, *action.Failure, w.now) })
		return true
	case decide.Finish:
		w.facts.FinishSent = second(w.now)
		w.both(func(r *v1alpha1.BenchmarkRun) { record.Finishing(r, w.now) })
		for i, key := range action.Clients {
			w.after(time.Duration(i+1)*100*time.Millisecond, "", func() { w.client(key).Connection = decide.Finished })
		}
	}
	return false
}

func (w *world) load(attempt decide.Attempt, key decide.ClientKey, delay time.Duration) {
	client := w.client(key)
	client.Attempts[attempt] = decide.ClientStep{Progress: decide.Loading}
	w.after(delay, "", func() {
		part := decide.ClientStep{Progress: decide.Loaded}
		if w.refuse[key.String()] {
			part = decide.ClientStep{Progress: decide.Refused, Failed: &decide.Failure{Reason: "NoSpace", Message: "too little free space"}}
		}
		client.Attempts[attempt] = part
	})
}

func (w *world) start(action decide.Action, key decide.ClientKey, delay time.Duration) {
	client := w.client(key)
	client.Attempts[action.Attempt] = decide.ClientStep{Progress: decide.Running}
	length := min(action.Deadline.Sub(action.Start)-time.Second, 10*time.Second)
	if w.plan.Step(action.Attempt.Step).Purpose == plan.Drain {
		length = action.Deadline.Sub(action.Start) - time.Second
	}
	var failure *decide.Failure
	if w.fail[key.String()] {
		length, failure = 3*time.Second, &decide.Failure{Reason: "IOError", Message: "fio: the storage reported an error"}
	}
	w.after(action.Start.Sub(w.now)+length+delay, "", func() {
		if client.Attempts[action.Attempt].Progress == decide.Running && client.Connection == decide.Ready && !w.deaf[key.String()] {
			client.Attempts[action.Attempt] = decide.ClientStep{Progress: decide.Ended, Failed: failure}
		}
	})
}

func (w *world) stop(attempt decide.Attempt, key decide.ClientKey) {
	client := w.client(key)
	if w.deaf[key.String()] {
		return
	}
	w.after(300*time.Millisecond, "", func() {
		if part := client.Attempts[attempt]; part.Failed == nil && part.Progress != decide.Ended && client.Connection == decide.Ready {
			w.early[partName(attempt, key)] = true
			client.Attempts[attempt] = decide.ClientStep{Progress: decide.Ended}
		}
	})
}

func partName(attempt decide.Attempt, key decide.ClientKey) string {
	return attempt.String() + " " + key.String()
}

// lose returns an event in which a client's process dies.
func (w *world) lose(target string, index int) func() {
	return func() {
		client := w.client(decide.ClientKey{Target: target, Index: index})
		client.Connection, client.Message = decide.Lost, "its process exited: signal: killed"
	}
}

// reported returns the reports of the clients that know an attempt.
func (w *world) reported(step plan.Step, attempt decide.Attempt) []result.Client {
	var all []result.Client
	for _, client := range w.clients {
		part, known := client.Attempts[attempt]
		if !known {
			continue
		}
		name := client.Key.String()
		report := builders.Client(client.Key.Target, client.Key.Index)
		if !w.idle[name] && !w.facts.Records[step.ID].Start.IsZero() {
			seconds := 10
			if w.early[partName(attempt, client.Key)] {
				seconds = 4
			}
			if step.Purpose == plan.Drain {
				report.Does(100, measure.Write, builders.Counter(2000, 65536), 4*time.Millisecond)
				report.Does(100, measure.Write, builders.Counter(200, 65536), 40*time.Millisecond)
			} else {
				report.Does(seconds, measure.Write, builders.Counter(2000, 65536), 4*time.Millisecond)
			}
		}
		switch {
		case part.Failed != nil && part.Progress == decide.Refused:
			report.Refused(part.Failed.Reason, part.Failed.Message)
		case part.Failed != nil:
			report.Failed(part.Failed.Reason, part.Failed.Message)
		case client.Connection == decide.Lost && part.Progress != decide.Ended:
			report.Lost(client.Message).Mutate(func(c *result.Client) { c.IOStart, c.IOEnd = time.Time{}, time.Time{} })
		case part.Progress != decide.Ended:
			report.Mutate(func(c *result.Client) { c.Ended, c.IOStart, c.IOEnd = false, time.Time{}, time.Time{} })
		case w.early[partName(attempt, client.Key)]:
			report.Stopped("told to")
		}
		all = append(all, report.Obj())
	}
	return all
}
