package decide_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/decide"
)

var oneSeed = flag.Uint64("seed", 0, "the seed of the one random run that is to be walked")

// TestRandomRuns checks that runs of random phases with random failures at random times keep all rules. Clients answer
// in any order and sometimes late; conductors die and hang. TestMillionRandomRuns does the same with a million other
// runs.
func TestRandomRuns(t *testing.T) {
	runs := uint64(3000)
	if testing.Short() {
		runs = 500
	}
	walkRandomRuns(t, 1, runs)
}

// walkRandomRuns checks that the runs of the given seeds keep the rules, and that all relevant cases occur.
func walkRandomRuns(t *testing.T, first, runs uint64) {
	t.Helper()
	if *oneSeed != 0 {
		first, runs = *oneSeed, 1
	}
	seen := map[string]int{}
	for seed := first; seed != first+runs; seed++ {
		w := randomWorld(seed, cut{})
		log, err := w.walk()
		if err != nil {
			t.Fatal(shortest(seed, err))
		}
		count(seen, w, log)
		// A run is deterministic: a repetition gives the same log.
		if seed%16 == 0 {
			if again, _ := randomWorld(seed, cut{}).walk(); again != log {
				t.Fatalf("seed %d: one run and another of the same facts and times differ:\n%s\n%s", seed, log, again)
			}
		}
	}
	// Check that the generator produces each case; otherwise the test proves nothing about it.
	for _, what := range []string{"good", "failed", "cancelled", "Conclude", "Retry", "Replace", "once cut short", "comes back",
		"the conductor dies at", "the conductor dies before", "is met again", "hangs", "Unfit", "StartTimeout", "ClientUnresponsive",
		"DeadlineExceeded", "told to end", "idle repeated"} {
		if seen[what] < int(runs)/200 {
			t.Errorf("%s was seen in %d of %d runs", what, seen[what], runs)
		}
	}
	t.Logf("%v", seen)
}

// shortest reports a broken rule together with the shortest version of the run that still breaks it.
func shortest(seed uint64, err error) string {
	var first, other *broken
	if !errors.As(err, &first) {
		return err.Error()
	}
	least := cut{}
	for again := true; again; {
		again = false
		for _, smaller := range least.smaller() {
			_, err := randomWorld(seed, smaller).walk()
			if errors.As(err, &other) && other.rule == first.rule {
				least, again = smaller, true
				break
			}
		}
	}
	w := randomWorld(seed, least)
	log, err := w.walk()
	return fmt.Sprintf("%v\nWith -seed %d, and with the least of its steps and events:\n%+v\n%+v\n%s", err, seed, w.snapshot.Policy, w.snapshot.Steps, log)
}

// cut lists the parts that are left out of a random run.
type cut struct {
	// steps and events have a bit for each omitted step and event.
	steps, events uint
	// prompt omits late and reordered answers. alive omits deaths of the conductor during actions.
	prompt, alive bool
}

// smaller returns all cuts that omit one more part.
func (c cut) smaller() []cut {
	var all []cut
	for i := range mostSteps {
		all = append(all, cut{c.steps | 1<<i, c.events, c.prompt, c.alive})
	}
	for i := range mostEvents {
		all = append(all, cut{c.steps, c.events | 1<<i, c.prompt, c.alive})
	}
	all = append(all, cut{c.steps, c.events, true, true}, cut{c.steps, c.events, c.prompt, true})
	return slices.DeleteFunc(all, func(one cut) bool { return one == c })
}

// count adds the cases that a run covered to seen.
func count(seen map[string]int, w *world, log string) {
	switch {
	case w.snapshot.Cancel != nil:
		seen["cancelled"]++
	case w.snapshot.Failure != nil:
		seen["failed"]++
	default:
		seen["good"]++
	}
	for _, what := range []string{"Conclude", "Retry", "Replace", "comes back", "the conductor dies at", "the conductor dies before",
		"is met again", "hangs", "Unfit", "StartTimeout", "ClientUnresponsive", "DeadlineExceeded", "told to end"} {
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
			return step.TakesPart(c.Key) && c.Attempts[attempt].Progress != decide.Ended
		}) {
			seen["once cut short"]++
		}
	}
}

const (
	mostSteps  = 5
	mostEvents = 4
)

// randomWorld returns a run of random phases with random events. Each step and each event has a random stream of its
// own, so that a cut does not change the others.
func randomWorld(seed uint64, without cut) *world {
	stream := uint64(0)
	next := func() *rand.Rand {
		stream++
		return rand.New(rand.NewPCG(seed, stream))
	}
	random := next()
	targets, clients := 1+random.IntN(2), 1+random.IntN(3)
	w := newWorld(targets, clients)
	w.snapshot.Policy.OnLoss = []decide.LossPolicy{decide.RestartStep, decide.RestartStep, decide.FailRun, decide.ContinueDegraded}[random.IntN(4)]
	w.snapshot.Policy.MaxRestarts, w.snapshot.Policy.LossPatience = random.IntN(3), time.Duration(random.IntN(10))*time.Second
	w.crashes = max(0, random.IntN(6)-2)
	steps, events := 2+random.IntN(mostSteps-1), random.IntN(mostEvents+1)
	var kept []decide.Step
	for i := range steps {
		random := next()
		step := randomStep(random, i, targets, clients)
		if step.NonRepeatable || step.Earliest > 0 {
			w.enough[step.ID] = time.Duration(random.Int64N(int64(step.Limit) * 3 / 2))
		}
		w.snapshot.Steps = append(w.snapshot.Steps, step)
		if without.steps>>i&1 == 0 {
			kept = append(kept, step)
			w.snapshot.Records[step.ID] = decide.Record{Attempt: 1}
		}
	}
	for i := range events {
		if random := next(); without.events>>i&1 == 0 {
			w.disturb(random)
		}
	}
	w.snapshot.Steps = kept
	w.shuffle = next()
	w.jitter = w.shuffle
	if without.prompt {
		w.shuffle, w.jitter = nil, nil
	}
	if without.alive {
		w.crashes = 0
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

// disturb adds a random event at a random time.
func (w *world) disturb(random *rand.Rand) {
	key := w.clients[random.IntN(len(w.clients))].Key
	step := w.snapshot.Steps[random.IntN(len(w.snapshot.Steps))]
	at := time.Duration(random.Int64N(int64(2 * time.Minute)))
	part := key.String() + " " + step.ID
	loses := func(w *world) {
		// A client that has finished cannot be lost any more.
		if c := w.client(key); c.Connection == decide.Ready || c.Connection == decide.Connecting {
			w.lose(key)(w)
		}
	}
	switch random.IntN(16) {
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
		// By that time the conductor gives up on the client.
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
	case 12, 13:
		length := time.Duration(random.Int64N(int64(90 * time.Second)))
		w.after(at, "the conductor hangs for "+length.String(), hang(length))
	case 14:
		w.silent[key.String()] = true
	case 15:
		w.after(time.Duration(random.Int64N(int64(3*time.Second))), key.String()+" turns out to be unfit", func(w *world) {
			if c := w.client(key); c.Connection == decide.Ready || c.Connection == decide.Connecting {
				c.Connection, c.Reason, c.Message = decide.Unfit, "Unfit", "no such directory"
			}
		})
	}
}
