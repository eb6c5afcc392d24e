package decide_test

import (
	"maps"
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/decide"
)

// mpiSteps returns three MPI steps: a layout, a measurement, and a drain that cannot be repeated.
func mpiSteps() []decide.Step {
	return []decide.Step{
		{ID: "00-layout", Targets: []string{"a"}, Limit: 20 * time.Second, Coupled: true},
		{ID: "01-read", Targets: []string{"a"}, Limit: 21 * time.Second, Coupled: true},
		{ID: "02-burst", Targets: []string{"a"}, Limit: 80 * time.Second, Latest: 20 * time.Second, Earliest: 10 * time.Second, Coupled: true, NonRepeatable: true},
	}
}

func mpiWorld() *world {
	w := newWorld(1, 3, mpiSteps()...)
	w.snapshot.Policy.LossPatience = 5 * time.Second
	return w
}

// breakJob lets the running attempts of all clients except one fail, as if their job had lost that client.
func (w *world) breakJob(lost decide.ClientKey, failure decide.Failure) {
	for _, client := range w.clients {
		for attempt, part := range client.Attempts {
			step := w.step(attempt.Step)
			if client.Key != lost && part.Progress == decide.Running && step.Coupled && (lost == decide.ClientKey{} || step.TakesPart(lost)) {
				w.answer(client, 100*time.Millisecond, func() {
					if client.Attempts[attempt].Progress == decide.Running {
						client.Attempts[attempt] = decide.ClientStep{Progress: decide.Ended, Failed: &failure, Since: w.now}
					}
				})
			}
		}
	}
}

func peerLost(key decide.ClientKey) decide.Failure {
	return decide.Failure{Reason: decide.ReasonClientLost, Message: "client " + key.String() + " was lost"}
}

// dies lets a client die. Its job notices at once, the conductor only after the given time.
func (w *world) dies(key decide.ClientKey, seen time.Duration) func(*world) {
	return func(w *world) {
		w.deaf[key.String()] = true
		w.breakJob(key, peerLost(key))
		w.after(seen, "it is seen that "+key.String()+" died", func(w *world) {
			delete(w.deaf, key.String())
			w.gone(w.client(key))
		})
	}
}

// failAll lets the running attempts of all clients fail.
func (w *world) failAll(failure decide.Failure) func(*world) {
	return func(w *world) { w.breakJob(decide.ClientKey{}, failure) }
}

var mpiSequences = map[string]func() *world{
	"mpi-good": mpiWorld,
	"mpi-lost": func() *world {
		w := mpiWorld()
		w.after(30*time.Second, "a/1 dies", w.lose(key(1)))
		return w
	},
	"mpi-lost-seen-late": func() *world {
		w := mpiWorld()
		w.after(30*time.Second, "a/1 dies", w.dies(key(1), 3*time.Second))
		return w
	},
	"mpi-launcher-lost-seen-late": func() *world {
		w := mpiWorld()
		w.after(30*time.Second, "a/0 dies", w.dies(key(0), 3*time.Second))
		return w
	},
	"mpi-lost-fail-run": func() *world {
		w := mpiWorld()
		w.snapshot.Policy.OnLoss = decide.FailRun
		w.after(30*time.Second, "a/1 dies", w.dies(key(1), 3*time.Second))
		return w
	},
	// a/0 cannot reach a/1, although a/1 is alive.
	"mpi-out-of-reach": func() *world {
		w := mpiWorld()
		w.after(30*time.Second, "the job breaks", w.failAll(peerLost(key(1))))
		return w
	},
	"mpi-out-of-reach-again": func() *world {
		w := mpiWorld()
		w.after(30*time.Second, "the job breaks", w.failAll(peerLost(key(1))))
		w.after(40*time.Second, "the job breaks", w.failAll(peerLost(key(1))))
		return w
	},
	"mpi-killed": func() *world {
		w := mpiWorld()
		w.after(30*time.Second, "a rank is killed", w.failAll(decide.Failure{Reason: "Killed", Message: "signal 9, killed"}))
		return w
	},
	"mpi-killed-since-lost": func() *world {
		w := mpiWorld()
		w.after(30*time.Second, "a/1 dies", func(w *world) {
			w.deaf["a/1"] = true
			w.breakJob(key(1), decide.Failure{Reason: "Killed", Message: "a rank or mpirun was killed, or a client was lost"})
			w.after(2*time.Second, "it is seen that a/1 died", func(w *world) {
				delete(w.deaf, "a/1")
				w.gone(w.client(key(1)))
			})
		})
		return w
	},
	"mpi-told-too-late": func() *world {
		w := mpiWorld()
		w.late["a/1 01-read"] = true
		w.onStart["01-read"] = func(w *world) {
			w.after(time.Millisecond, "the job cannot be started", w.failAll(decide.Failure{Reason: "MPI", Message: "client 1 has no such step"}))
		}
		return w
	},
	// The new conductor replaces a/1 before it knows that the other clients have loaded the job.
	"mpi-lost-in-a-takeover": func() *world {
		w := mpiWorld()
		w.onLoad["01-read"] = func(w *world) {
			w.note("# a/1 and the conductor die, and another one takes over")
			w.lose(key(1))(w)
			comeBack(w)
		}
		return w
	},
	"mpi-tool-fails": func() *world {
		w := mpiWorld()
		w.fail["a/0 01-read"] = true
		return w
	},
	"mpi-drain-lost": func() *world {
		w := mpiWorld()
		w.onStart["02-burst"] = func(w *world) { w.after(5*time.Second, "a/1 dies", w.dies(key(1), time.Second)) }
		return w
	},
	"mpi-drain-out-of-reach": func() *world {
		w := mpiWorld()
		w.onStart["02-burst"] = func(w *world) { w.after(5*time.Second, "the job breaks", w.failAll(peerLost(key(1)))) }
		return w
	},
	"mpi-drain-enough": func() *world {
		w := mpiWorld()
		w.enough["02-burst"] = 12 * time.Second
		return w
	},
}

func init() { maps.Copy(sequences, mpiSequences) }

// TestJobEndsSoonAfterALoss checks that, a second after a client is lost, the other clients have ended or were told to
// stop.
func TestJobEndsSoonAfterALoss(t *testing.T) {
	for _, policy := range []decide.LossPolicy{decide.RestartStep, decide.FailRun} {
		for _, lost := range []int{0, 1} {
			w := mpiWorld()
			w.snapshot.Policy.OnLoss = policy
			var died, ended time.Duration
			w.after(30*time.Second, "", func(w *world) {
				died = w.now.Sub(w.began)
				w.dies(key(lost), 2*time.Second)(w)
				w.after(time.Second, "", func(w *world) {
					if idle(w, key(lost)) {
						ended = w.now.Sub(w.began)
					}
				})
			})
			w.run(t)
			if died == 0 || ended == 0 {
				t.Errorf("%s, a/%d dies: other clients are still busy a second later", policy, lost)
			}
		}
	}
}

// idle reports whether all clients, except the given one, have nothing loaded or running.
func idle(w *world, but decide.ClientKey) bool {
	for _, client := range w.clients {
		for _, part := range client.Attempts {
			if client.Key != but && live(part) {
				return false
			}
		}
	}
	return true
}
