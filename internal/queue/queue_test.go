package queue_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/queue"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// run returns a run in namespace a, created the given number of seconds after noon.
func run(name string, after int, state queue.State, change ...func(*queue.Run)) queue.Run {
	made := queue.Run{Namespace: "a", Name: name, UID: "uid-" + name, Created: noon.Add(time.Duration(after) * time.Second), State: state}
	for _, one := range change {
		one(&made)
	}
	return made
}

func in(name string) func(*queue.Run) {
	return func(r *queue.Run) { r.Queue = queue.Named{ID: r.Namespace + "/" + name, Text: "queue " + name} }
}

func claim(name string) func(*queue.Run) {
	return func(r *queue.Run) {
		r.Claims = append(r.Claims, queue.Named{ID: r.Namespace + "/" + name, Text: "claim " + name})
	}
}

func volume(id string) func(*queue.Run) {
	return func(r *queue.Run) {
		r.Volumes = append(r.Volumes, queue.Named{ID: id, Text: "the volume of claim data"})
	}
}

func elsewhere(r *queue.Run) { r.Namespace = "b" }

func TestTurn(t *testing.T) {
	const waiting, raised, live = queue.Waiting, queue.Raised, queue.Live
	for _, test := range []struct {
		name    string
		run     queue.Run
		others  []queue.Run
		want    queue.Verdict
		message string
	}{
		{"alone", run("x", 5, waiting, in("q")), nil, queue.Raise, ""},
		{"alone and raised", run("x", 5, raised, in("q")), nil, queue.Begin, ""},
		{"itself in the list", run("x", 5, raised, in("q")), []queue.Run{run("x", 5, live, in("q"))}, queue.Begin, ""},
		{"another queue", run("x", 5, waiting, in("q")), []queue.Run{run("y", 0, live, in("r"))}, queue.Raise, ""},
		{"no queue at all", run("x", 5, waiting), []queue.Run{run("y", 0, live)}, queue.Raise, ""},
		{"a live one", run("x", 5, waiting, in("q")), []queue.Run{run("y", 9, live, in("q"))}, queue.Wait, "waits for run y, which is live in queue q"},
		{"a live one, and I am raised", run("x", 5, raised, in("q")), []queue.Run{run("y", 9, live, in("q"))}, queue.Wait, "waits for run y, which is live in queue q"},
		{"an older one that waits", run("x", 5, waiting, in("q")), []queue.Run{run("y", 0, waiting, in("q"))}, queue.Wait, "waits for run y, which is ahead of it in queue q"},
		{"a younger one that waits", run("x", 5, waiting, in("q")), []queue.Run{run("y", 6, waiting, in("q"))}, queue.Raise, ""},
		{"a younger one that is raised", run("x", 5, waiting, in("q")), []queue.Run{run("y", 6, raised, in("q"))}, queue.Wait, "waits for run y, which is ahead of it in queue q"},
		{"both raised, and I am older", run("x", 5, raised, in("q")), []queue.Run{run("y", 6, raised, in("q"))}, queue.Stay, ""},
		{"both raised, and I am younger", run("x", 5, raised, in("q")), []queue.Run{run("y", 4, raised, in("q"))}, queue.Wait, "waits for run y, which is ahead of it in queue q"},
		{"raised, and an older one appears that waits", run("x", 5, raised, in("q")), []queue.Run{run("y", 4, waiting, in("q"))}, queue.Begin, ""},
		{"of one second", run("x", 5, waiting, in("q")), []queue.Run{run("w", 5, waiting, in("q")), run("y", 5, waiting, in("q"))}, queue.Wait,
			"waits for run w, which is ahead of it in queue q"},
		{"many", run("x", 5, waiting, in("q")), []queue.Run{run("a", 1, waiting, in("q")), run("b", 0, waiting, in("q")), run("c", 2, live, in("q"))}, queue.Wait,
			"waits for run c, which is live in queue q, and for 2 more runs"},
		{"two", run("x", 5, waiting, in("q")), []queue.Run{run("a", 1, waiting, in("q")), run("b", 0, waiting, in("q"))}, queue.Wait,
			"waits for run b, which is ahead of it in queue q, and for one more run"},
		{"one claim", run("x", 5, waiting, claim("c"), claim("d")), []queue.Run{run("y", 0, live, claim("d"))}, queue.Wait, "waits for run y, which is live and uses claim d"},
		{"one claim that it waits for itself", run("x", 5, waiting, claim("d")), []queue.Run{run("y", 0, waiting, claim("d"))}, queue.Wait,
			"waits for run y, which is ahead of it in the queue for claim d"},
		{"claims of one name in two namespaces", run("x", 5, waiting, claim("d")), []queue.Run{run("y", 0, live, elsewhere, claim("d"))}, queue.Raise, ""},
		{"queues of one name in two namespaces", run("x", 5, waiting, in("q")), []queue.Run{run("y", 0, live, elsewhere, in("q"))}, queue.Raise, ""},
		{"one volume in two namespaces", run("x", 5, waiting, volume("v")), []queue.Run{run("y", 0, live, elsewhere, volume("u"), volume("v"))}, queue.Wait,
			"waits for a run in another namespace, which is live and uses the volume of claim data"},
	} {
		turn := queue.Of(test.run, test.others)
		if turn.Verdict != test.want || turn.Message(test.run.Namespace) != test.message {
			t.Errorf("%s: %s, %q; want %s, %q", test.name, turn.Verdict, turn.Message(test.run.Namespace), test.want, test.message)
		}
	}
}

// shop is an API server with some runs, and clerks: processes that read, decide and write at any speed. A late clerk
// writes an old decision, unless the run has changed since.
type shop struct {
	t       *testing.T
	random  *rand.Rand
	runs    map[string]*queue.Run
	version map[string]int
	clerks  []*clerk
	served  []string
}

// clerk is a process that handles one run at a time.
type clerk struct {
	name    string
	version int
	// run was read before the list; decided is the decision from the list.
	run     queue.Run
	decided *queue.Turn
}

func (s *shop) list() []queue.Run {
	var all []queue.Run
	for _, one := range s.runs {
		all = append(all, *one)
	}
	return all
}

// step lets a clerk take its next step: read a run, list and decide, or write.
func (s *shop) step(c *clerk) {
	switch {
	case c.name == "":
		all := s.list()
		if len(all) == 0 {
			return
		}
		slices.SortFunc(all, func(a, b queue.Run) int { return int(a.Created.Sub(b.Created)) })
		c.run = all[s.random.IntN(len(all))]
		if c.run.State == queue.Live {
			return
		}
		c.name, c.version = c.run.Name, s.version[c.run.Name]
	case c.decided == nil:
		turn := queue.Of(c.run, s.list())
		c.decided = &turn
	default:
		s.write(c)
		*c = clerk{}
	}
}

// write is an update that fails if the resource version has changed.
func (s *shop) write(c *clerk) {
	now := s.runs[c.name]
	if now == nil || s.version[c.name] != c.version {
		return
	}
	state := now.State
	switch c.decided.Verdict {
	case queue.Wait:
		state = queue.Waiting
	case queue.Raise:
		state = queue.Raised
	case queue.Begin:
		state = queue.Live
		s.served = append(s.served, c.name)
	case queue.Stay:
	}
	if state != now.State {
		now.State = state
		s.version[c.name]++
	}
	for name, other := range s.runs {
		if _, _, shared := queue.Shared(*now, *other); state == queue.Live && name != c.name && other.State == queue.Live && shared {
			s.t.Errorf("%s and %s are both live", c.name, name)
		}
	}
}

// TestNoTwoAreLive creates runs, some in the same second and out of order. Several independent clerks serve them, die
// between any two steps, and write late. No two runs that share something may be live at the same time, each run must
// be live once, and all must be served.
func TestNoTwoAreLive(t *testing.T) {
	for seed := range uint64(400) {
		random := rand.New(rand.NewPCG(seed, 3))
		s := &shop{t: t, random: random, runs: map[string]*queue.Run{}, version: map[string]int{}}
		for range 1 + random.IntN(4) {
			s.clerks = append(s.clerks, &clerk{})
		}
		const runs = 12
		made := 0
		for steps := 0; made < runs || len(s.runs) > 0; steps++ {
			if steps > 200_000 {
				t.Fatalf("seed %d: after %d steps these runs are left: %v", seed, steps, s.list())
			}
			switch dice := random.IntN(100); {
			case dice < 3 && made < runs:
				one := run(fmt.Sprintf("%c%d", 'a'+rune(random.IntN(26)), made), made/4, queue.Waiting)
				for _, share := range []func(*queue.Run){in("q"), in("r"), claim("c"), volume("v")} {
					if random.IntN(2) == 0 {
						share(&one)
					}
				}
				s.runs[one.Name] = &one
				made++
			case dice < 6:
				for name, one := range s.runs {
					if one.State == queue.Live {
						delete(s.runs, name)
						break
					}
				}
			case dice < 8:
				*s.clerks[random.IntN(len(s.clerks))] = clerk{}
			default:
				s.step(s.clerks[random.IntN(len(s.clerks))])
			}
		}
		slices.Sort(s.served)
		if len(s.served) != runs || len(slices.Compact(s.served)) != runs {
			t.Errorf("seed %d: served were %v", seed, s.served)
		}
	}
}

// TestFirstComeFirstServed checks that runs are served in the order of their creation if all exist before the first one
// is handled.
func TestFirstComeFirstServed(t *testing.T) {
	var waiting []queue.Run
	for i := range 20 {
		waiting = append(waiting, run(fmt.Sprintf("r%02d", i), i/3, queue.Waiting, in("q")))
	}
	want := slices.Clone(waiting)
	random := rand.New(rand.NewPCG(1, 1))
	for _, next := range want {
		random.Shuffle(len(waiting), func(i, j int) { waiting[i], waiting[j] = waiting[j], waiting[i] })
		for i, one := range waiting {
			if turn := queue.Of(one, waiting); (turn.Verdict == queue.Raise) != (one.Name == next.Name) {
				t.Fatalf("%s is to %s, and %s is next", one.Name, turn.Verdict, next.Name)
			} else if turn.Verdict == queue.Raise {
				waiting[i].State = queue.Raised
			}
		}
		waiting = slices.DeleteFunc(waiting, func(r queue.Run) bool { return r.Name == next.Name })
	}
}
