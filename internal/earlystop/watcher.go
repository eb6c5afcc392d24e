package earlystop

import (
	"reflect"
	"slices"

	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
)

// Source provides the samples of clients. A conductor implements it.
type Source interface {
	// SamplesFrom returns the samples of a client in an attempt, starting at an index. over is true if the client
	// has no more samples to send.
	SamplesFrom(attempt decide.Attempt, key decide.ClientKey, index int) (samples []measure.Sample, over bool)
}

// Watcher follows the live step of a run, if that step can end early. It is not safe for concurrent use.
type Watcher struct {
	source Source
	// followed is the live attempt, and targets holds the state of each of its targets.
	followed decide.Attempt
	targets  []*target
}

// New returns a watcher of a run's clients.
func New(source Source) *Watcher { return &Watcher{source: source} }

// Look reads the samples since the last call. It returns the live attempt with the reason why it may end, or nil if no
// attempt may end. A step that loads several targets ends only when all of them have measured enough, because targets
// that are loaded together compete.
//
// baselines maps each target to the baseline and the burst, in bytes per second, that the run's last drain measured.
// If a target is drained again with the same load after a pause, the step may end once the rate has stayed at that
// baseline for long enough, however short the burst was. documented holds the documented limits of each target.
func (w *Watcher) Look(
	planned plan.Plan, snapshot decide.Snapshot, baselines map[string]limits.Rates, documented map[string]limits.Computed,
) map[decide.Attempt]string {
	step, attempt, live := current(planned, snapshot)
	if !live {
		w.targets = nil
		w.followed = decide.Attempt{}
		return nil
	}
	if w.followed != attempt {
		w.follow(planned, step, attempt, snapshot.Clients, baselines, documented)
	}
	reason := ""
	enough := len(w.targets) > 0
	for _, t := range w.targets {
		why := t.look(w.source, attempt)
		enough = enough && why != ""
		if reason != "" && why != "" {
			reason += "; "
		}
		reason += why
	}
	if !enough {
		return nil
	}
	return map[decide.Attempt]string{attempt: reason}
}

// current returns the running step and its attempt if that step can end early and its early end has not been decided
// yet. Otherwise it returns false.
func current(planned plan.Plan, snapshot decide.Snapshot) (plan.Step, decide.Attempt, bool) {
	for _, step := range planned.Steps {
		record := snapshot.Records[step.ID]
		if record.Done {
			continue
		}
		attempt := decide.Attempt{Step: step.ID, Number: record.Attempt}
		return step, attempt, step.Adaptive() && !record.Start.IsZero() && record.Concluded.IsZero()
	}
	return plan.Step{}, decide.Attempt{}, false
}

func (w *Watcher) follow(
	planned plan.Plan, step plan.Step, attempt decide.Attempt, clients []decide.Client,
	baselines map[string]limits.Rates, documented map[string]limits.Computed,
) {
	w.followed, w.targets = attempt, nil
	for _, name := range step.Targets {
		demand, _ := step.Demand(name)
		measured := baselines[name]
		if !sameLoad(planned, step, name) {
			measured = limits.Rates{}
		}
		t := &target{name: name, judge: judgeOf(step, name, documented[name].Settled(demand.Load), measured)}
		for _, client := range clients {
			if client.Key.Target == name && client.Key.Index < step.Clients {
				t.keys = append(t.keys, client.Key)
			}
		}
		t.flow.clients = make([]stream, len(t.keys))
		w.targets = append(w.targets, t)
	}
}

// sameLoad reports whether all drains of a target before a step have the same load as the step. If a drain had another
// block size or operation, the measured baseline may not apply to the step.
func sameLoad(planned plan.Plan, step plan.Step, target string) bool {
	demand, _ := step.Demand(target)
	for _, earlier := range planned.Steps {
		if earlier.ID == step.ID {
			break
		}
		if earlier.Purpose != plan.Drain || !slices.Contains(earlier.Targets, target) {
			continue
		}
		before, _ := earlier.Demand(target)
		if before.Load != demand.Load {
			return false
		}
		// BlockBytes is 0 if the load has several block sizes or an unknown one. In that case, compare the workloads.
		if before.Load.BlockBytes == 0 && !reflect.DeepEqual(earlier.Workloads[target], step.Workloads[target]) {
			return false
		}
	}
	return true
}

// target is the state of one target of the followed step.
type target struct {
	name  string
	keys  []decide.ClientKey
	flow  flow
	judge judge
	// why is the reason to end the step on this target, as of the newest sample. It is "" if more samples are needed.
	why string
}

// look reads the new samples of the target. It returns the reason to end the step on this target, or "" if more samples
// are needed.
func (t *target) look(source Source, attempt decide.Attempt) string {
	for i, key := range t.keys {
		samples, over := source.SamplesFrom(attempt, key, t.flow.clients[i].taken)
		t.flow.add(i, samples, over)
	}
	for _, sample := range t.flow.intervals() {
		t.why = t.judge.add(sample)
	}
	if t.why == "" {
		return ""
	}
	return t.name + ": " + t.why
}
