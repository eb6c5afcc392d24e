package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
)

// maxJobs is the API's limit for the jobs of a client.
const maxJobs = 1024

// shape is what tells data sets of jobs with files of their own apart.
type shape struct {
	target       string
	datasetBytes int64
	filesPerJob  int32
}

// shapeOf is false where the number of jobs does not change the files.
func shapeOf(target string, profile *v1alpha1.FioProfile) (shape, bool) {
	if profile.JobFile != "" || profile.FileSharing == v1alpha1.FilesShared || profile.IOEngine == v1alpha1.FioNull {
		return shape{}, false
	}
	s := shape{target: target, datasetBytes: profile.DatasetSize.Value(), filesPerJob: 1}
	if profile.FilesPerJob != nil {
		s.filesPerJob = *profile.FilesPerJob
	}
	return s, true
}

// findLayoutJobs looks ahead for phases that raise the jobs on a data set. All steps that work on it
// have to divide it alike: else the files that one step has laid out are not those of the next.
func (m *maker) findLayoutJobs() {
	m.layoutJobs = map[shape]int32{}
	for _, raised := range []bool{true, false} {
		for i := range m.run.Phases {
			phase := &m.run.Phases[i]
			for _, target := range targetNames(m.run) {
				chosen, _ := m.chosen(m.root, phase, target)
				if chosen == nil || chosen.Fio == nil {
					continue
				}
				one, own := shapeOf(target, chosen.Fio)
				jobs := raisedJobs(phase)
				if !own || (jobs > 0) != raised {
					continue
				}
				if !raised {
					if m.layoutJobs[one] == 0 {
						continue // nobody raises them
					}
					jobs = ownJobs(chosen.Fio)
				}
				m.layoutJobs[one] = max(m.layoutJobs[one], jobs)
			}
		}
	}
}

// raisedJobs is the largest number that a phase puts in place of the workload's own; 0 where it does not.
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

func ownJobs(profile *v1alpha1.FioProfile) int32 {
	if profile.Jobs != nil {
		return *profile.Jobs
	}
	return 1
}

// setLayoutJobs says for how many jobs the files of the step are laid out.
func (p *phaseMaker) setLayoutJobs(step *Step) bool {
	first := ""
	for _, target := range step.Targets {
		profile := p.loads[target].engine.Fio
		if profile == nil {
			continue // of MPI: it has no jobs
		}
		jobs := int32(0)
		if one, own := shapeOf(target, profile); own {
			jobs = p.layoutJobs[one]
		}
		if first != "" && jobs != step.Overrides.LayoutJobs {
			p.addOnce(field.Invalid(p.path.Child("mode"), p.phase.Mode, fmt.Sprintf(
				"other phases raise the jobs on the data of one of the targets %s and %s, or to another number, so that one step cannot "+
					"work on both: use mode Sequential, or fileSharing: Shared in the workloads", first, target)))
			return false
		}
		first, step.Overrides.LayoutJobs = target, jobs
	}
	return true
}

// part is how much of the data of a client so many jobs work on.
type part struct {
	jobs, all int32
	bytes     int64
}

// warnParts tells of steps whose jobs have files of their own, of which there are more: of the smallest part
// of each phase and target.
func (m *maker) warnParts() {
	smallest := map[int]map[string]part{} // by phase and target
	for i := range m.plan.Steps {
		step := &m.plan.Steps[i]
		for target, engine := range step.Workloads {
			if engine.Fio == nil {
				continue
			}
			one := part{jobs: step.jobs(target), all: step.Overrides.LayoutJobs}
			if step.WorkBound() || one.jobs >= one.all {
				continue
			}
			one.bytes = engine.Fio.DatasetSize.Value() / int64(one.all) * int64(one.jobs)
			if smallest[step.PhaseIndex] == nil {
				smallest[step.PhaseIndex] = map[string]part{}
			}
			if known, found := smallest[step.PhaseIndex][target]; !found || one.jobs < known.jobs {
				smallest[step.PhaseIndex][target] = one
			}
		}
	}
	var order []part
	phases, targets := map[part][]string{}, map[part][]string{}
	for i := range m.run.Phases {
		for _, target := range targetNames(m.run) {
			one, found := smallest[i][target]
			if !found {
				continue
			}
			if !slices.Contains(order, one) {
				order = append(order, one)
			}
			phases[one], targets[one] = with(phases[one], m.run.Phases[i].Name), with(targets[one], target)
		}
	}
	for _, one := range order {
		m.warn(m.root.Child("phases"), "each job has files of its own, and they are laid out for %d jobs: with %s a step of %s on %s works on "+
			"%s of each client's data. With fileSharing: Shared in the workload any number of jobs works on all of it",
			one.all, few(one.jobs), strings.Join(phases[one], ", "), strings.Join(targets[one], ", "),
			measure.FormatBinaryBytes(uint64(one.bytes))) //nolint:gosec // Sizes are positive.
	}
}

// with adds a name to a list that does not have it.
func with(list []string, name string) []string {
	if slices.Contains(list, name) {
		return list
	}
	return append(list, name)
}

// jobs of the step on a target, of each client.
func (s Step) jobs(target string) int32 {
	if s.Overrides.Jobs > 0 {
		return s.Overrides.Jobs
	}
	return ownJobs(s.Workloads[target].Fio)
}

func few(jobs int32) string {
	if jobs == 1 {
		return "1 job"
	}
	return fmt.Sprintf("%d jobs", jobs)
}
