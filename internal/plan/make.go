package plan

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/claims"
	"github.com/storagebench/storagebench/internal/engine/fio"
	"github.com/storagebench/storagebench/internal/limits"
)

const (
	// measuredSlack is how long a measured step may take beyond its own time: the tool has to
	// start, and what is in flight at the end has to come back. Load itself ends by the tool's own
	// clock.
	measuredSlack = time.Minute
	// defaultDeadline is the API's, for a specification without its defaults.
	defaultDeadline = 48 * time.Hour
	// maxSteps is the API's limit for the steps of a run.
	maxSteps = 1024
)

// Make plans a resolved run. All problems are returned together, each with its field; the plan is
// of use only when there are none.
//
// The seed is the run's: it gives the order of a sweep. Problems and warnings do not depend on it.
func Make(run *v1alpha1.RunSpec, seed int64, options ...Option) (Plan, field.ErrorList) {
	m := maker{
		run: run, seed: seed, root: field.NewPath("spec", "run"),
		datasets: map[string]*dataset{}, tallies: map[string]*tally{}, described: map[filesKey]*fio.Traits{}, rendered: map[renderKey]bool{}, setUps: map[setupKey]bool{},
	}
	for _, option := range options {
		option(&m)
	}
	m.plan.ClientsPerTarget = max(1, int(run.Clients.Count))
	m.deadline = m.duration(m.root.Child("activeDeadline"), run.ActiveDeadline)
	if m.deadline <= 0 {
		m.deadline = defaultDeadline
	}
	m.refuseAmbiguous()
	m.refuseTargets()
	m.refuseUnbuilt()
	m.refuseVolumes()
	m.openTallies()
	m.findLayoutJobs()
	for i := range run.Phases {
		m.phase(i, &run.Phases[i])
	}
	m.warnParts()
	m.judgeProcesses()
	m.judgeLength()
	m.stripe()
	m.placeVolumes()
	m.problems = append(m.problems, claims.Templates(m.root, run, m.plan.FirstWrite)...)
	m.plan.DatasetHash = m.datasetHash()
	return m.plan, m.problems
}

// maker holds what is known while phases are planned one after the other.
type maker struct {
	run      *v1alpha1.RunSpec
	seed     int64
	root     *field.Path
	deadline time.Duration
	storage  Storage
	// documented limits of targets, by name.
	documented map[string]limits.Computed
	plan       Plan
	problems   field.ErrorList
	datasets   map[string]*dataset
	tallies    map[string]*tally
	// demands caches the traits of profiles.
	demands *DemandModel
	// layoutJobs is for how many jobs the files of a dataset are laid out, where a phase raises them.
	layoutJobs map[shape]int32
	// described are data sets, with files files in all; rendered are jobs that were proven to be possible.
	described map[filesKey]*fio.Traits
	files     int
	rendered  map[renderKey]bool
	// setUp are targets and setups of commands that a prepare phase has run.
	setUps map[setupKey]bool
	// tooManySteps is set once it was reported that there are too many steps.
	tooManySteps bool
	// placed are jobs that were proven to suit the volumes of targets.
	placed map[placedKey]bool
}

// phase plans one phase. Where it cannot be planned, what it would have laid out is not known, and its
// lack is not a second mistake.
func (m *maker) phase(index int, phase *v1alpha1.Phase) {
	if m.tooManySteps {
		return
	}
	p := &phaseMaker{
		maker: m, index: index, phase: phase, path: m.root.Child("phases").Index(index),
		first: len(m.plan.Steps), loads: map[string]load{},
	}
	before := len(m.problems)
	switch phase.Kind() {
	case v1alpha1.PhasePrepare:
		p.prepare(phase.Prepare)
	case v1alpha1.PhaseSteady:
		p.steady(phase.Steady)
	case v1alpha1.PhaseBurstDrain:
		p.burstDrain(phase.BurstDrain)
	case v1alpha1.PhaseCooldown:
		p.cooldown(phase.Cooldown)
	case v1alpha1.PhaseRamp:
		p.ramp(phase.Ramp)
	case v1alpha1.PhaseSweep:
		p.sweep(phase.Sweep)
	default: // told already
	}
	p.name()
	if len(m.problems) > before && phase.Kind() == v1alpha1.PhasePrepare {
		for _, target := range targetNames(m.run) {
			m.dataset(target).unknown = true
		}
	}
}

func (m *maker) duration(path *field.Path, text v1alpha1.Duration) time.Duration {
	length, err := text.Parse()
	if err != nil {
		m.problems = append(m.problems, field.Invalid(path, string(text), err.Error()))
	}
	return length
}

// lasting reads a length of time that load is measured for; it is refused where that measures nothing.
func (m *maker) lasting(path *field.Path, text v1alpha1.Duration) time.Duration {
	length, err := text.Parse()
	switch {
	case err != nil:
		m.problems = append(m.problems, field.Invalid(path, string(text), err.Error()))
	case length < time.Second:
		m.problems = append(m.problems, field.Invalid(path, string(text),
			"at least 1s: shorter steps measure nothing; write a longer time such as 60s"))
	}
	return length
}

// addOnce keeps a problem of a shared workload from being told for each phase that uses it.
func (m *maker) addOnce(problems ...*field.Error) {
	for _, problem := range problems {
		if !slices.ContainsFunc(m.problems, func(known *field.Error) bool { return known.Error() == problem.Error() }) {
			m.problems = append(m.problems, problem)
		}
	}
}

// warn says something to whoever reads the plan, once.
func (m *maker) warn(at *field.Path, format string, arguments ...any) {
	text := at.String() + ": " + fmt.Sprintf(format, arguments...)
	if !slices.Contains(m.plan.Warnings, text) {
		m.plan.Warnings = append(m.plan.Warnings, text)
	}
}

func targetNames(run *v1alpha1.RunSpec) []string {
	var names []string
	for _, target := range run.Targets {
		names = append(names, target.Name)
	}
	return names
}
