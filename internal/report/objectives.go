package report

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/objective"
)

var verdictWords = map[v1alpha1.Verdict]string{v1alpha1.VerdictMet: "met", v1alpha1.VerdictMissed: "MISSED", v1alpha1.VerdictUnknown: "NOT KNOWN"}

// JudgedBy evaluates a finished run against the given objectives. It returns a copy of the document with these
// objectives and their verdicts instead of the run's own.
func (d Document) JudgedBy(objectives []v1alpha1.Objective) Document {
	d.ObjectivesChanged = true
	d.Spec.Objectives = objectives
	d.Objectives = nil
	if len(objectives) > 0 {
		d.Objectives = objective.Evaluate(objectives, &d.Spec, &d.BenchmarkRunStatus)
	}
	status, reason, message := objective.Condition(d.Objectives)
	d.Conditions = slices.Clone(d.Conditions)
	meta.SetStatusCondition(&d.Conditions, metav1.Condition{Type: v1alpha1.ConditionObjectivesMet, Status: status, Reason: reason, Message: message})
	return d
}

// objectives writes the figure, bound and verdict of each objective, and the messages of those that were not met.
func (p *page) objectives(d Document) {
	switch {
	case d.ObjectivesChanged && len(d.Objectives) == 0:
		p.line("The benchmark's objectives were removed after this run.")
	case d.ObjectivesChanged:
		p.line("The benchmark's objectives have changed since this run; the verdicts use the current objectives.")
	}
	if len(d.Objectives) == 0 {
		return
	}
	lines := [][]string{{"OBJECTIVE", "FIGURE", "VERDICT", "OBSERVED", "WANTED"}}
	var missed, unknown []string
	for i := range d.Objectives {
		one := &d.Objectives[i]
		observed := cmp.Or(objective.Observed(one), absent)
		lines = append(lines, []string{printable(one.Name), printable(one.Figure), verdictWords[one.Verdict], observed, wanted(d, one)})
		switch one.Verdict {
		case v1alpha1.VerdictMet:
		case v1alpha1.VerdictMissed:
			// List the message of a missed objective in addition to its table row, because only the message names the
			// target.
			missed = append(missed, one.Name+": "+one.Message)
		case v1alpha1.VerdictUnknown:
			unknown = append(unknown, one.Name+": "+one.Message)
		}
	}
	p.columns(lines, 3)
	p.list("Not judged:", unknown)
	if len(d.Spec.Run.Targets) > 1 {
		p.details(func() { p.list("Missed:", missed) })
	}
}

// wanted returns the bound of an objective, preceded by "at least" or "at most" according to the objective in the run's
// specification.
func wanted(d Document, one *v1alpha1.ObjectiveResult) string {
	text := cmp.Or(objective.Required(one), absent)
	for i := range d.Spec.Objectives {
		if o := &d.Spec.Objectives[i]; o.Name == one.Name && one.Required != nil {
			return objective.Direction(o, *one.Required) + " " + text
		}
	}
	return text
}
