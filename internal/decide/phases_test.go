package decide_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/test/golden"
)

// phase is a run with a certain kind of phase, in one step of which disturbances happen.
type phase struct {
	build func() *world
	// in is the ID of the step that is disturbed 5 s after its start. The step may be idle.
	in string
}

func onA(id string, limit time.Duration) decide.Step {
	return decide.Step{ID: id, Targets: []string{"a"}, Limit: limit}
}

func idleFor(id string, limit time.Duration) decide.Step {
	return decide.Step{ID: id, Targets: []string{"a"}, Idle: true, Limit: limit}
}

func drain(id string) decide.Step {
	return decide.Step{ID: id, Targets: []string{"a"}, Limit: time.Hour, NonRepeatable: true, Earliest: 20 * time.Second}
}

func firstClients(count int, step decide.Step) decide.Step {
	step.ClientsPerTarget = count
	return step
}

// phases holds runs, named after the kind of phase that they cover.
var phases = map[string]phase{
	"prepare": {in: "00-001-layout-precondition", build: func() *world {
		return newWorld(1, 2, onA("00-000-layout", 20*time.Second), onA("00-001-layout-precondition", 40*time.Second), onA("01-read", 11*time.Second))
	}},
	"steady-ends-early": {in: "01-steady", build: func() *world {
		steady := onA("01-steady", 31*time.Second)
		steady.Earliest = 10 * time.Second
		w := newWorld(1, 2, onA("00-layout", 20*time.Second), steady, onA("02-read", 11*time.Second))
		w.enough["01-steady"] = 15 * time.Second
		return w
	}},
	// Enough is measured before the earliest time at which the step may end.
	"steady-enough-too-early": {in: "01-steady", build: func() *world {
		steady := onA("01-steady", 31*time.Second)
		steady.Earliest = 10 * time.Second
		w := newWorld(1, 2, onA("00-layout", 20*time.Second), steady)
		w.enough["01-steady"] = 3 * time.Second
		return w
	}},
	"ramp-of-clients": {in: "00-001-ramp", build: func() *world {
		return newWorld(1, 3, firstClients(1, onA("00-000-ramp", 11*time.Second)),
			firstClients(2, onA("00-001-ramp", 11*time.Second)), firstClients(3, onA("00-002-ramp", 11*time.Second)))
	}},
	"sweep-in-burst": {in: "00-002-matrix-idle", build: func() *world {
		return newWorld(1, 2, idleFor("00-000-matrix-idle", 30*time.Second), onA("00-001-matrix", 11*time.Second),
			idleFor("00-002-matrix-idle", 30*time.Second), onA("00-003-matrix", 11*time.Second),
			idleFor("00-004-matrix-idle", 30*time.Second), onA("00-005-matrix", 11*time.Second))
	}},
	"sweep-at-baseline": {in: "00-002-matrix", build: func() *world {
		w := newWorld(1, 2, drain("00-000-matrix-drain"), onA("00-001-matrix", 11*time.Second),
			onA("00-002-matrix", 11*time.Second), onA("00-003-matrix", 11*time.Second))
		w.enough["00-000-matrix-drain"] = time.Minute
		return w
	}},
	"drain": {in: "01-burst", build: func() *world {
		w := newWorld(1, 2, onA("00-layout", 20*time.Second), drain("01-burst"), onA("02-baseline", 11*time.Second))
		w.enough["01-burst"] = 10 * time.Minute
		return w
	}},
	"drain-never-exhausts": {in: "01-burst", build: func() *world {
		return newWorld(1, 2, onA("00-layout", 20*time.Second), drain("01-burst"), onA("02-baseline", 11*time.Second))
	}},
	"cooldown": {in: "01-cool", build: func() *world {
		return newWorld(1, 2, onA("00-write", 11*time.Second), idleFor("01-cool", time.Minute), onA("02-read", 11*time.Second))
	}},
	// The length of the idle step is known only after the drain.
	"cooldown-until-credits": {in: "01-cool", build: func() *world {
		w := newWorld(1, 2, drain("00-burst"), idleFor("01-cool", time.Hour), onA("02-read", 11*time.Second))
		w.enough["00-burst"] = time.Minute
		w.onRecord["00-burst"] = func(w *world) { w.snapshot.Steps[1].Until = w.now.Add(5 * time.Minute) }
		return w
	}},
	"cooldown-redrain": {in: "01-001-refill-drain", build: func() *world {
		w := newWorld(1, 2, drain("00-burst"), idleFor("01-000-refill-idle", 10*time.Minute), drain("01-001-refill-drain"), onA("02-read", 11*time.Second))
		w.enough["00-burst"], w.enough["01-001-refill-drain"] = time.Minute, time.Minute
		return w
	}},
	"sequential-targets": {in: "00-01-drain-b", build: func() *world {
		a, b := drain("00-00-drain-a"), drain("00-01-drain-b")
		b.Targets = []string{"b"}
		w := newWorld(2, 2, a, b, decide.Step{ID: "01-read", Targets: []string{"a", "b"}, Limit: 11 * time.Second})
		w.enough["00-00-drain-a"], w.enough["00-01-drain-b"] = time.Minute, time.Minute
		return w
	}},
}

// disturbances holds events that can happen during a step.
var disturbances = map[string]func(w *world, in string, victim decide.ClientKey){
	"undisturbed": func(*world, string, decide.ClientKey) {},
	"client-lost": func(w *world, in string, victim decide.ClientKey) {
		w.during(in, victim.String()+" dies", w.lose(victim))
	},
	"client-lost-before-start": func(w *world, in string, victim decide.ClientKey) {
		w.onLoad[in] = func(w *world) { w.after(5*time.Millisecond, victim.String()+" dies", w.lose(victim)) }
	},
	"client-lost-fail-run": func(w *world, in string, victim decide.ClientKey) {
		w.snapshot.Policy.OnLoss = decide.FailRun
		w.during(in, victim.String()+" dies", w.lose(victim))
	},
	"client-lost-continue": func(w *world, in string, victim decide.ClientKey) {
		w.snapshot.Policy.OnLoss = decide.ContinueDegraded
		w.during(in, victim.String()+" dies", w.lose(victim))
	},
	"client-told-to-end": func(w *world, in string, victim decide.ClientKey) {
		w.during(in, victim.String()+" is told to end", w.told(victim, 3*time.Second))
	},
	"bystander-lost": func(w *world, in string, _ decide.ClientKey) {
		key := w.clients[w.bystander(in)].Key
		w.during(in, key.String()+" dies", w.lose(key))
	},
	"load-refused": func(w *world, in string, victim decide.ClientKey) { w.refuse[victim.String()+" "+in] = true },
	"tool-fails":   func(w *world, in string, victim decide.ClientKey) { w.fail[victim.String()+" "+in] = true },
	"told-too-late": func(w *world, in string, victim decide.ClientKey) {
		w.late[victim.String()+" "+in] = true
	},
	"client-never-ends": func(w *world, in string, victim decide.ClientKey) { w.deaf[victim.String()+" "+in] = true },
	"cancelled":         func(w *world, in string, _ decide.ClientKey) { w.during(in, "interrupted", cancel) },
	"conductor-dies": func(w *world, in string, _ decide.ClientKey) {
		w.during(in, "the conductor dies and comes back", comeBack)
	},
	"client-lost-while-nobody-conducts": func(w *world, in string, victim decide.ClientKey) {
		w.during(in, victim.String()+" dies, and so does the conductor, which comes back", func(w *world) {
			w.lose(victim)(w)
			comeBack(w)
		})
	},
	"active-deadline": func(w *world, in string, _ decide.ClientKey) {
		w.onStart[in] = func(w *world) { w.snapshot.Policy.ActiveDeadline = w.now.Sub(w.began) + 5*time.Second }
	},
}

// needLoad lists the disturbances that can happen only in a step with load.
var needLoad = []string{"client-lost-before-start", "load-refused", "tool-fails", "told-too-late", "client-never-ends"}

// during calls do 5 s after the first start of a step.
func (w *world) during(in, name string, do func(*world)) {
	w.onStart[in] = func(w *world) { w.after(5*time.Second, name, do) }
}

// victim returns the first client of the step's first target.
func (w *world) victim(in string) decide.ClientKey {
	return decide.ClientKey{Target: w.step(in).Targets[0], Index: 0}
}

// bystander returns the index of a client that has no part in a step with load, or -1.
func (w *world) bystander(in string) int {
	return slices.IndexFunc(w.clients, func(c *decide.Client) bool { return !w.step(in).Idle && !w.step(in).TakesPart(c.Key) })
}

// TestPhases checks whole runs of each kind of phase with each disturbance against golden files.
func TestPhases(t *testing.T) {
	for name, phase := range phases {
		t.Run(name, func(t *testing.T) {
			var all strings.Builder
			for _, what := range slices.Sorted(maps.Keys(disturbances)) {
				w := phase.build()
				if w.step(phase.in).Idle && slices.Contains(needLoad, what) || what == "bystander-lost" && w.bystander(phase.in) < 0 {
					continue
				}
				disturbances[what](w, phase.in, w.victim(phase.in))
				fmt.Fprintf(&all, "== %s\n%s\n", what, w.run(t))
			}
			golden.Check(t, "phase-"+name, all.String())
		})
	}
}
