package report

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// invalid returns the reasons why the run's figures must not be used.
func invalid(d Document) []item {
	all := remarksOf(d, v1alpha1.SeverityDisqualifying)
	valid := meta.FindStatusCondition(d.Conditions, v1alpha1.ConditionValid)
	if len(all) == 0 && valid != nil && valid.Status == metav1.ConditionFalse {
		return []item{{text: valid.Reason + ": " + valid.Message}}
	}
	return all
}

// remarksOf returns the warnings of one severity, with one entry per type. Each message appears only once in an entry,
// with the names of all phases that reported it. A warning of severity Info is omitted if any phase has a warning of
// severity Warning with the same type and message.
func remarksOf(d Document, severity v1alpha1.Severity) []item {
	var types []v1alpha1.WarningType
	said := map[v1alpha1.WarningType]*remarks{}
	worse := map[string]bool{}
	if severity == v1alpha1.SeverityInfo {
		worse = textsOf(d, v1alpha1.SeverityWarning)
	}
	add := func(where string, warning v1alpha1.Warning) {
		if severityOf(warning) != severity || worse[textOf(warning)] {
			return
		}
		if said[warning.Type] == nil {
			types = append(types, warning.Type)
			said[warning.Type] = &remarks{}
		}
		said[warning.Type].add(where, warning.Message)
	}
	for _, warning := range d.Warnings {
		add("run", warning)
	}
	for phase, target := range v1alpha1.TargetResults(d.Phases) {
		for _, warning := range target.Warnings {
			add(where(d, phase, target), warning)
		}
	}
	var items []item
	for _, kind := range types {
		texts := said[kind].sentences()
		items = append(items, item{text: string(kind) + ": " + texts[0], like: texts[1:]})
	}
	return items
}

func textOf(warning v1alpha1.Warning) string { return string(warning.Type) + ": " + warning.Message }

// textsOf returns the texts of all warnings with the given severity that phases reported.
func textsOf(d Document, severity v1alpha1.Severity) map[string]bool {
	texts := map[string]bool{}
	for _, target := range v1alpha1.TargetResults(d.Phases) {
		for _, warning := range target.Warnings {
			if severityOf(warning) == severity {
				texts[textOf(warning)] = true
			}
		}
	}
	return texts
}

// severityOf returns the severity of a warning. An unknown severity counts as the worst one, disqualifying.
func severityOf(warning v1alpha1.Warning) v1alpha1.Severity {
	switch warning.Severity {
	case v1alpha1.SeverityInfo, v1alpha1.SeverityWarning:
		return warning.Severity
	case v1alpha1.SeverityDisqualifying:
	}
	return v1alpha1.SeverityDisqualifying
}

// lostClients describes when and why clients were lost, and whether they were replaced.
func lostClients(d Document) []string {
	var lost []string
	for _, one := range d.LostClients {
		when, what := "between steps", "not replaced"
		if one.Step != "" {
			when = "in step " + one.Step
		}
		if one.Replaced {
			what = "replaced"
		}
		lost = append(lost, fmt.Sprintf("client %s/%d, %s, %s: %s", one.Target, one.Client, when, what, one.Reason))
	}
	return lost
}

func dataLeft(d Document) []string {
	var left []string
	for _, one := range d.DataLeft {
		left = append(left, one.Path+": "+one.Reason)
	}
	return left
}
