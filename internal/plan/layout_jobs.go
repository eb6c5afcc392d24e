package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine"
	"github.com/storagebench/storagebench/internal/measure"
)

// maxJobs is the API's limit on the number of jobs per client.
const maxJobs = 1024

// jobDataset identifies a dataset in which each job has its own files.
type jobDataset struct {
	target string
	files  engine.JobFiles
}

// jobDatasetOf returns the dataset of a workload and the number of jobs that the workload itself sets. own is true if
// each job has its own files. The number of jobs then determines the files.
func (m *maker) jobDatasetOf(target string, spec *v1alpha1.Engine) (one jobDataset, jobs int32, own bool) {
	made, err := m.demands.describe(spec, engine.Step{Purpose: Measure, Clients: 1, Processes: 1})
	if err != nil || made.JobFiles == (engine.JobFiles{}) {
		return jobDataset{}, 0, false
	}
	return jobDataset{target, made.JobFiles}, int32(made.Jobs), true //nolint:gosec // The API limits it.
}

// findLayoutJobs looks ahead for phases that raise the number of jobs on a dataset. All steps that use a dataset must
// divide it in the same way; otherwise, a step does not find the files that an earlier step laid out.
func (m *maker) findLayoutJobs() {
	m.layoutJobs = map[jobDataset]int32{}
	for _, raised := range []bool{true, false} {
		for i := range m.run.Phases {
			phase := &m.run.Phases[i]
			for _, target := range targetNames(m.run) {
				chosen := m.run.WorkloadOf(phase, target)
				jobs := raisedJobs(phase)
				if chosen == nil || (jobs > 0) != raised {
					continue
				}
				one, ownJobs, own := m.jobDatasetOf(target, &chosen.Engine)
				// Skip the dataset if the jobs share files, or if no phase raises the number of jobs.
				if !own || !raised && m.layoutJobs[one] == 0 {
					continue
				}
				if !raised {
					jobs = ownJobs
				}
				m.layoutJobs[one] = max(m.layoutJobs[one], jobs)
			}
		}
	}
}

// raisedJobs returns the largest number of jobs that a phase sets instead of the workload's number, or 0 if it sets
// none.
func raisedJobs(phase *v1alpha1.Phase) int32 {
	most := int64(0)
	switch {
	case phase.Ramp != nil && phase.Ramp.Dimension == v1alpha1.RampJobs:
		for _, value := range phase.Ramp.Steps {
			most = max(most, value)
		}
	case phase.Sweep != nil:
		for _, value := range phase.Sweep.Axes.Jobs {
			most = max(most, int64(value))
		}
	}
	return int32(min(most, maxJobs))
}

// setLayoutJobs sets LayoutJobs of the step: the number of jobs among which the layout divides the files. It reports a
// problem if the step's targets need different numbers.
func (p *phaseMaker) setLayoutJobs(step *Step) bool {
	first := ""
	for _, target := range step.Targets {
		load := p.loads[target]
		if !load.HasJobs {
			continue
		}
		jobs := int32(0)
		if one, _, own := p.jobDatasetOf(target, load.spec); own {
			jobs = p.layoutJobs[one]
		}
		if first != "" && jobs != step.Overrides.LayoutJobs {
			p.addOnce(field.Invalid(p.path.Child("mode"), p.phase.Mode, fmt.Sprintf(
				"targets %s and %s need layouts for different numbers of jobs, because other phases vary the jobs of one of them. One step cannot "+
					"load both: use mode Sequential, or fileSharing: Shared in the workloads", first, target)))
			return false
		}
		first, step.Overrides.LayoutJobs = target, jobs
	}
	return true
}

// jobSubset describes how much of a client's data a step accesses if it has fewer jobs than the layout.
type jobSubset struct {
	jobs, all int32
	bytes     int64
}

// warnJobSubsets warns of steps that use only a part of the data, because each job has its own files and the step has
// fewer jobs than the layout. It warns once per phase and target, for the smallest subset.
func (m *maker) warnJobSubsets() {
	smallest := map[int]map[string]jobSubset{} // the keys are the phase's index and the target's name
	for i := range m.plan.Steps {
		step := &m.plan.Steps[i]
		for target, spec := range step.Workloads {
			made, err := m.demands.describe(spec, step.For(target))
			one := jobSubset{jobs: int32(made.Jobs), all: step.Overrides.LayoutJobs} //nolint:gosec // The API limits it.
			if err != nil || step.WorkBound() || made.JobFiles == (engine.JobFiles{}) || one.jobs >= one.all {
				continue
			}
			one.bytes = made.JobFiles.Bytes / int64(one.all) * int64(one.jobs)
			if smallest[step.PhaseIndex] == nil {
				smallest[step.PhaseIndex] = map[string]jobSubset{}
			}
			if known, found := smallest[step.PhaseIndex][target]; !found || one.jobs < known.jobs {
				smallest[step.PhaseIndex][target] = one
			}
		}
	}
	var order []jobSubset
	phases, targets := map[jobSubset][]string{}, map[jobSubset][]string{}
	for i := range m.run.Phases {
		for _, target := range targetNames(m.run) {
			one, found := smallest[i][target]
			if !found {
				continue
			}
			if !slices.Contains(order, one) {
				order = append(order, one)
			}
			phases[one], targets[one] = appendNew(phases[one], m.run.Phases[i].Name), appendNew(targets[one], target)
		}
	}
	for _, one := range order {
		m.warn(m.root.Child("phases"), "each job has its own files, which are laid out for %d jobs: with %s, a step of %s on %s uses only "+
			"%s of each client's data. Set fileSharing: Shared in the workload to use all of it with any number of jobs",
			one.all, measure.FormatCount(int(one.jobs), "job"), strings.Join(phases[one], ", "), strings.Join(targets[one], ", "),
			measure.FormatBinaryBytes(uint64(one.bytes))) //nolint:gosec // Sizes are positive.
	}
}

// appendNew appends a name to a list unless the list contains it.
func appendNew(list []string, name string) []string {
	if slices.Contains(list, name) {
		return list
	}
	return append(list, name)
}
