package decide_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/decide"
)

// TestRandomRuns is runs of random phases, with random failures at random times, whose clients answer in
// any order and sometimes late. What must hold for each of them is in check.
func TestRandomRuns(t *testing.T) {
	runs := uint64(1500)
	if testing.Short() {
		runs = 300
	}
	seen := map[string]int{}
	for seed := range runs {
		random := rand.New(rand.NewPCG(seed, 4))
		w := randomWorld(random)
		// The same run twice: nothing in it is left to chance.
		first := w.run(t)
		if again := randomWorld(rand.New(rand.NewPCG(seed, 4))).run(t); again != first {
			t.Fatalf("seed %d: one run and another of the same facts and times differ:\n%s\n%s", seed, first, again)
		}
		count(seen, w, first)
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, first)
		}
	}
	// A generator that has lost one of its cases would prove nothing about it.
	for _, what := range []string{"good", "failed", "cancelled", "Conclude", "Retry", "Replace", "once cut short",
		"comes back", "told to end", "idle repeated"} {
		if seen[what] < int(runs)/100 {
			t.Errorf("%s was seen in %d of %d runs", what, seen[what], runs)
		}
	}
	t.Logf("%v", seen)
}

// count notes what a run was an example of.
func count(seen map[string]int, w *world, log string) {
	switch {
	case w.snapshot.Cancel != nil:
		seen["cancelled"]++
	case w.snapshot.Failure != nil:
		seen["failed"]++
	default:
		seen["good"]++
	}
	for _, what := range []string{"Conclude", "Retry", "Replace", "comes back", "told to end"} {
		if strings.Contains(log, what) {
			seen[what]++
		}
	}
	for _, step := range w.snapshot.Steps {
		record := w.snapshot.Records[step.ID]
		if step.Idle && record.Attempt > 1 {
			seen["idle repeated"]++
		}
		attempt := decide.Attempt{Step: step.ID, Number: record.Attempt}
		if step.NonRepeatable && record.Done && slices.ContainsFunc(w.clients, func(c *decide.Client) bool {
			return step.Takes(c.Key) && c.Attempts[attempt].Progress != decide.Ended
		}) {
			seen["once cut short"]++
		}
	}
}

// randomWorld is a run of random phases in which some things will happen.
func randomWorld(random *rand.Rand) *world {
	targets, clients := 1+random.IntN(2), 1+random.IntN(3)
	var steps []decide.Step
	for i := range 2 + random.IntN(4) {
		steps = append(steps, randomStep(random, i, targets, clients))
	}
	w := newWorld(targets, clients, steps...)
	w.shuffle, w.jitter = random, random
	w.snapshot.Policy.OnLoss = []decide.LossPolicy{decide.RestartStep, decide.RestartStep, decide.FailRun, decide.ContinueDegraded}[random.IntN(4)]
	w.snapshot.Policy.MaxRestarts, w.snapshot.Policy.LossPatience = random.IntN(3), time.Duration(random.IntN(10))*time.Second
	for _, step := range steps {
		if step.NonRepeatable || step.Earliest > 0 {
			w.enough[step.ID] = time.Duration(random.Int64N(int64(step.Limit) * 3 / 2))
		}
	}
	for range random.IntN(4) {
		w.disturb(random)
	}
	return w
}

func randomStep(random *rand.Rand, index, targets, clients int) decide.Step {
	step := decide.Step{ID: fmt.Sprintf("%02d", index), Limit: time.Duration(5+random.IntN(60)) * time.Second}
	for target := range targets {
		step.Targets = append(step.Targets, string(rune('a'+target)))
	}
	if random.IntN(4) == 0 {
		step.Targets = step.Targets[random.IntN(targets):][:1]
	}
	switch random.IntN(6) {
	case 0:
		step.ID += "-idle"
		step.Idle = true
	case 1, 2:
		step.ID += "-drain"
		step.NonRepeatable = true
		step.Earliest = time.Duration(random.IntN(20)) * time.Second
	case 3:
		step.ID += "-steady"
		step.Earliest = time.Duration(1+random.IntN(20)) * time.Second
	case 4:
		step.ID += "-ramp"
		step.ClientsPerTarget = 1 + random.IntN(clients)
	case 5:
		step.ID += "-measure"
	}
	step.Coupled = !step.Idle && random.IntN(3) == 0
	if step.Coupled && step.NonRepeatable {
		step.Latest = max(step.Limit/2, step.Earliest)
	}
	return step
}

// disturb makes one thing happen to a run, at any time.
func (w *world) disturb(random *rand.Rand) {
	key := w.clients[random.IntN(len(w.clients))].Key
	step := w.snapshot.Steps[random.IntN(len(w.snapshot.Steps))]
	at := time.Duration(random.Int64N(int64(2 * time.Minute)))
	part := key.String() + " " + step.ID
	loses := func(w *world) {
		// One that has left is not lost any more.
		if c := w.client(key); c.Connection == decide.Ready || c.Connection == decide.Connecting {
			w.lose(key)(w)
		}
	}
	switch random.IntN(12) {
	case 0, 1, 2:
		w.after(at, key.String()+" dies", loses)
	case 3:
		w.onLoad[step.ID] = func(w *world) {
			w.after(time.Duration(random.Int64N(int64(time.Second))), key.String()+" dies", loses)
		}
	case 4, 5:
		w.after(at, key.String()+" is told to end", func(w *world) {
			if w.client(key).Connection == decide.Ready {
				w.told(key, time.Duration(random.Int64N(int64(10*time.Second))))(w)
			}
		})
	case 6:
		w.refuse[part] = true
	case 7:
		w.fail[part] = true
	case 8:
		w.late[part] = true
	case 9:
		w.deaf[part] = true
		// Who conducts has lost it by then.
		w.after(30*time.Minute, key.String()+" is given up", loses)
	case 10:
		w.after(at, "interrupted", cancel)
		if random.IntN(2) == 0 {
			w.snapshot.Policy.ActiveDeadline = time.Minute
		}
	case 11:
		w.after(at, "the conductor dies and comes back", func(w *world) {
			if random.IntN(2) == 0 {
				loses(w)
			}
			comeBack(w)
		})
	}
}
