package cli

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/objective"
	"github.com/storagebench/storagebench/internal/plan"
)

// loadTexts describes the loads of the measuring phases. Phases with the same load share a line.
func loadTexts(d *planDocument) []string {
	var loads []string
	labels := map[string][]string{}
	add := func(label, words string) {
		if words == "" {
			return
		}
		if labels[words] == nil {
			loads = append(loads, words)
		}
		labels[words] = append(labels[words], label)
	}
	for steps := range d.phases() {
		phase, of := steps[0].Phase, map[string]string{}
		var targets []string
		for _, step := range steps {
			for _, target := range step.Targets {
				if !slices.Contains(targets, target) {
					targets = append(targets, target)
					of[target] = loadOf(steps, target)
				}
			}
		}
		if !slices.ContainsFunc(targets, func(target string) bool { return of[target] != of[targets[0]] }) {
			if len(targets) > 0 {
				add(phase, of[targets[0]])
			}
			continue
		}
		for _, target := range targets {
			add(phase+"/"+target, of[target])
		}
	}
	for i, words := range loads {
		loads[i] = strings.Join(labels[words], ", ") + ": " + words
	}
	return loads
}

// loadOf describes the operations that the steps of a phase measure on a target, such as "random writes of 64Ki". It
// returns "" if they are not known before the run. It omits properties that differ between cells, because the plan
// lists their values separately.
func loadOf(steps []planStep, target string) string {
	var order, operations, sizes []string
	add := func(list *[]string, word string) {
		if !slices.Contains(*list, word) {
			*list = append(*list, word)
		}
	}
	for _, step := range steps {
		p := step.planned
		load := p.Load(target)
		if p.Purpose != plan.Measure && p.Purpose != plan.Drain || p.Overrides.Operation != "" || load.Kind == "" || load.Opaque || !slices.Contains(step.Targets, target) {
			continue
		}
		about := p.For(target)
		made, err := load.Describe(&about)
		if err != nil || made.Metadata {
			continue
		}
		switch {
		case made.Mixed:
			add(&order, "random and sequential")
		case made.Random:
			add(&order, "random")
		default:
			add(&order, "sequential")
		}
		if made.Reads {
			add(&operations, "reads")
		}
		if made.Writes {
			add(&operations, "writes")
		}
		if made.Trims {
			add(&operations, "trims")
		}
		if size := resource.NewQuantity(int64(made.BlockBytes), resource.BinarySI); made.BlockBytes > 0 { //nolint:gosec // At most 1Gi.
			add(&sizes, size.String())
		}
	}
	slices.Sort(operations)
	if len(operations) == 0 || len(order) != 1 {
		return ""
	}
	words := order[0] + " " + strings.Join(operations, " and ")
	if len(sizes) == 1 {
		words += " of " + sizes[0]
	}
	return words
}

// startsText describes when the operator starts runs. It returns "" if the operator starts a run only when spec.run is
// new or has changed.
func startsText(benchmark *v1alpha1.StorageBenchmark) string {
	trigger := benchmark.Spec.Trigger
	switch {
	case benchmark.Spec.Suspend != nil && *benchmark.Spec.Suspend:
		return "suspended: starts no run"
	case trigger != nil && trigger.Schedule != "":
		zone := trigger.TimeZone
		if zone == "" {
			zone = "UTC"
		}
		text := fmt.Sprintf("starts at %q in %s", trigger.Schedule, zone)
		if trigger.StartsOnChange() {
			text += ", and when spec.run is new or has changed"
		}
		return text
	case !trigger.StartsOnChange():
		return "starts only when a run is requested"
	}
	return ""
}

// objectiveTexts describes the objectives of a benchmark.
func objectiveTexts(objectives []v1alpha1.Objective) []string {
	var texts []string
	for i := range objectives {
		texts = append(texts, fmt.Sprintf("%s: %s: %s", objectives[i].Name, objective.Figure(&objectives[i]), objective.Wanted(&objectives[i])))
	}
	return texts
}

// maxQuery is the maximum number of characters of a query that the plan shows. Longer queries are truncated.
const maxQuery = 100

// observationTexts describes the observations of a run, one line each, with the beginning of the query.
func observationTexts(run *v1alpha1.RunSpec) []string {
	var texts []string
	for i := range run.Observations {
		o := &run.Observations[i]
		text := o.Name
		if len(o.Phases) > 0 {
			text += " in " + strings.Join(o.Phases, ", ")
		}
		if o.CreditsOf != "" {
			text += ", the credits of " + o.CreditsOf
		}
		texts = append(texts, text+": "+v1alpha1.Truncate(strings.Join(strings.Fields(o.Query), " "), maxQuery))
	}
	return texts
}
