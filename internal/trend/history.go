package trend

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

const (
	// mostColumns is the maximum number of different figures in a history. newestKept is the number of newest runs that
	// a history keeps, whether or not the next run is compared with them.
	mostColumns = 8
	newestKept  = 24
	// mostRuns is the API's limit on the number of runs in a history.
	mostRuns = 80
)

// Run is a run that has ended.
type Run struct {
	Name    string
	Started time.Time
	// Hash is the hash of the run's specification.
	Hash string
	// Valid is true if the run is complete and valid.
	Valid bool
	// By holds the figures and facts by which the run is compared with others. It is nil if they were not recorded.
	By *v1alpha1.Comparable
}

// RunOf converts a BenchmarkRun to a Run. It also accepts a BenchmarkRun that the operator's cache has trimmed.
func RunOf(run *v1alpha1.BenchmarkRun) Run {
	made := Run{Name: run.Name, Hash: run.Spec.Hash, By: run.Status.Comparable, Started: run.CreationTimestamp.Time}
	if run.Status.StartTime != nil {
		made.Started = run.Status.StartTime.Time
	}
	// Stored times have a resolution of one second, so compare whole seconds.
	made.Started = made.Started.UTC().Truncate(time.Second)
	made.Valid = meta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionComplete) &&
		meta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionValid)
	return made
}

// entry is a run in a history, with everything that the history records about it.
type entry struct {
	name     string
	started  time.Time
	verdict  v1alpha1.RegressionVerdict
	accepted time.Time
	use      string
	figures  []v1alpha1.RunFigure
	facts    map[string]string
}

func entryOf(run *Run) entry {
	made := entry{name: run.Name, started: run.Started, facts: map[string]string{}}
	made.figures = run.By.Figures
	for _, fact := range run.By.Facts {
		made.facts[fact.Name] = fact.Value
	}
	return made
}

// unpack decodes a history. A nil history is empty.
func unpack(history *v1alpha1.ComparedHistory) []entry {
	if history == nil {
		return nil
	}
	facts := map[string]string{}
	var all []entry
	for i := range history.Runs {
		run := &history.Runs[i]
		for _, fact := range run.Facts {
			facts[fact.Name] = fact.Value
			if fact.Value == "" {
				delete(facts, fact.Name)
			}
		}
		made := entry{name: run.Name, started: run.Time.UTC(), verdict: run.Verdict, use: run.Use, facts: maps.Clone(facts)}
		if run.AcceptedSince != nil {
			made.accepted = run.AcceptedSince.UTC()
		}
		for column, value := range run.Values[:min(len(run.Values), len(history.Figures))] {
			if value > 0 {
				of := history.Figures[column]
				made.figures = append(made.figures, v1alpha1.RunFigure{Figure: of.Figure, Value: value, Unit: of.Unit, LowerIsBetter: of.LowerIsBetter, Condition: of.Condition})
			}
		}
		all = append(all, made)
	}
	return all
}

// pack encodes a history. If there are too many figures, it drops those that only the oldest runs have.
func pack(hash, store string, all []entry) *v1alpha1.ComparedHistory {
	made := &v1alpha1.ComparedHistory{Hash: hash, Store: store}
	for i := len(all) - 1; i >= 0; i-- {
		for _, figure := range all[i].figures {
			if columnOf(made.Figures, &figure) < 0 && len(made.Figures) < mostColumns {
				made.Figures = append(made.Figures, v1alpha1.ComparedFigure{Figure: figure.Figure, Unit: figure.Unit, LowerIsBetter: figure.LowerIsBetter, Condition: figure.Condition})
			}
		}
	}
	before := map[string]string{}
	for i := range all {
		one := &all[i]
		run := v1alpha1.ComparedRun{Name: one.name, Time: metav1.NewTime(one.started), Verdict: one.verdict, Use: one.use, Facts: factChanges(before, one.facts)}
		before = one.facts
		if !one.accepted.IsZero() {
			at := metav1.NewTime(one.accepted)
			run.AcceptedSince = &at
		}
		run.Values = make([]int64, len(made.Figures))
		for _, figure := range one.figures {
			if column := columnOf(made.Figures, &figure); column >= 0 {
				run.Values[column] = figure.Value
			}
		}
		made.Runs = append(made.Runs, run)
	}
	return made
}

func columnOf(columns []v1alpha1.ComparedFigure, figure *v1alpha1.RunFigure) int {
	return slices.IndexFunc(columns, func(c v1alpha1.ComparedFigure) bool {
		return c.Figure == figure.Figure && c.Condition == figure.Condition && c.Unit == figure.Unit
	})
}

// factChanges returns the facts that changed from one run to the next. A fact that disappeared has no value.
func factChanges(before, after map[string]string) []v1alpha1.RunFact {
	var changes []v1alpha1.RunFact
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if before[name] != after[name] {
			changes = append(changes, v1alpha1.RunFact{Name: name, Value: after[name]})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, still := after[name]; !still {
			changes = append(changes, v1alpha1.RunFact{Name: name})
		}
	}
	return changes[:min(len(changes), mostFacts)]
}

// Trim removes the oldest runs of a history until only the given number is left.
func Trim(history *v1alpha1.ComparedHistory, runs int) *v1alpha1.ComparedHistory {
	all := unpack(history)
	return pack(history.Hash, history.Store, all[max(0, len(all)-runs):])
}

// mergeHistory adds the evaluated run to the history, and the comparable stored runs that started before that run and
// after the history's newest run. It ignores older stored runs, because an earlier evaluation has already decided which
// of them to keep.
func mergeHistory(history *v1alpha1.ComparedHistory, stored []Run, judged *Run) []entry {
	var all []entry
	if history != nil && history.Hash == judged.Hash && history.Store == judged.By.Store {
		all = unpack(history)
	}
	all = slices.DeleteFunc(all, func(e entry) bool { return e.name == judged.Name })
	var since time.Time
	if len(all) > 0 {
		since = all[len(all)-1].started
	}
	for i := range stored {
		run := &stored[i]
		known := slices.ContainsFunc(all, func(e entry) bool { return e.name == run.Name })
		if known || run.Name == judged.Name || !run.comparableWith(judged) || !run.Started.After(since) || !run.Started.Before(judged.Started) {
			continue
		}
		all = append(all, entryOf(run))
	}
	slices.SortStableFunc(all, func(a, b entry) int { return a.started.Compare(b.started) })
	return append(all, entryOf(judged))
}

func (r *Run) comparableWith(other *Run) bool {
	return r.Valid && r.By != nil && len(r.By.Figures) > 0 && r.Hash == other.Hash && r.By.Store == other.By.Store
}
