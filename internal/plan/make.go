package plan

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/claims"
	"github.com/storagebench/storagebench/internal/limits"
)

const (
	// measuredSlack is the time by which a measured step may exceed its planned duration, because the tool must start and
	// operations in flight at the end must complete. The load itself ends by the tool's own clock.
	measuredSlack = time.Minute
	// defaultDeadline is the API's default for activeDeadline. It applies if the specification was not defaulted.
	defaultDeadline = 48 * time.Hour
	// maxSteps is the API's limit on the number of steps in a run.
	maxSteps = 1024
	// kinds lists the kinds of phases as users write them.
	kinds = "prepare, steady, ramp, sweep, burstDrain, cooldown, refill, smallFiles, search, interference"
)

// Make plans a resolved run. It returns all problems together, each with its field; use the plan only if there are
// none.
//
// The run's seed determines the order of a sweep. Problems and warnings do not depend on it.
func Make(run *v1alpha1.RunSpec, seed int64, options ...Option) (Plan, field.ErrorList) {
	m := maker{
		run: run, seed: seed, root: field.NewPath("spec", "run"), cluster: Cluster{PriorityClass: OperatorPriorityClass},
		datasets: map[string]*dataset{}, forecasts: map[string]*creditForecast{}, rendered: map[useOf]bool{}, setUps: map[setupKey]bool{},
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
	m.refuseTooManyClients()
	m.refuseShorthand()
	m.refusePhasesWithoutKind()
	m.refuseVolumes()
	m.refusePriority()
	m.openForecasts()
	m.findLayoutJobs()
	for i := range run.Phases {
		m.phase(i, &run.Phases[i])
	}
	m.warnJobSubsets()
	m.checkProcesses()
	m.checkDeadline()
	m.stripe()
	m.placeVolumes()
	m.warnSmallClaims()
	m.checkObservations()
	m.addOnce(claims.Templates(m.root, run, m.plan.FirstWrite)...)
	m.plan.DatasetHash = m.datasetHash()
	return m.plan, m.problems
}

// maker holds the state of the planner as it goes through the phases.
type maker struct {
	run      *v1alpha1.RunSpec
	seed     int64
	root     *field.Path
	deadline time.Duration
	catalog  *limits.Catalog
	cluster  Cluster
	// documented holds the documented limits of targets, by name.
	documented map[string]limits.Computed
	plan       Plan
	problems   field.ErrorList
	datasets   map[string]*dataset
	forecasts  map[string]*creditForecast
	// striping holds the striping of each target that sets one. It is part of a layout's identity, because files keep the
	// striping that they were created with, so a run with another striping must not reuse them.
	striping map[string]Striping
	// demands computes the demands of loads; it caches their descriptions.
	demands *DemandModel
	// layoutJobs holds the number of jobs for which a dataset is laid out, if a phase raises the number of jobs.
	layoutJobs map[jobDataset]int32
	// rendered contains the loads whose tool input was rendered without an error, so that they are not rendered again.
	rendered map[useOf]bool
	// setUps holds, per target, the command setups that a prepare phase has run.
	setUps map[setupKey]bool
	// tooManySteps is true once the plan exceeds maxSteps. Further phases are then not planned.
	tooManySteps bool
}

// phase plans one phase. If a prepare phase has problems, its layout is unknown, and later phases do not report the
// missing data as another problem.
func (m *maker) phase(index int, phase *v1alpha1.Phase) {
	if m.tooManySteps || phase.Refill != nil {
		return
	}
	p := &phaseMaker{
		maker: m, index: index, phase: phase, path: m.root.Child("phases").Index(index),
		first: len(m.plan.Steps), loads: map[string]load{},
	}
	before := len(m.problems)
	switch phase.Kind() {
	case v1alpha1.PhasePrepare:
		// A prepare phase becomes Prepare steps, and Precondition steps if preconditioning is set.
		p.prepare(phase.Prepare)
	case v1alpha1.PhaseSteady: // a steady phase becomes Measure steps
		p.steady(phase.Steady)
	case v1alpha1.PhaseBurstDrain: // a burstDrain phase becomes Drain steps
		p.burstDrain(phase.BurstDrain)
	case v1alpha1.PhaseCooldown:
		// A cooldown phase becomes an Idle step, and then Drain steps if it measures the refill.
		p.cooldown(phase.Cooldown)
	case v1alpha1.PhaseRamp: // a ramp becomes a Measure step for each value
		p.ramp(phase.Ramp)
	case v1alpha1.PhaseSweep:
		// A sweep becomes a Measure step for each cell, in an order set by the seed. In regime Baseline, a Drain step
		// precedes the cells. An Idle step precedes each cell that needs more credits than the bucket holds.
		p.sweep(phase.Sweep)
	case v1alpha1.PhaseSmallFiles: // a smallFiles phase becomes a Measure step for each operation
		p.smallFiles(phase.SmallFiles)
	case v1alpha1.PhaseSearch:
		// A search becomes as many Measure steps as it may need; their rates are chosen when they begin. In regime
		// Baseline, a Drain step precedes them.
		p.search(phase.Search)
	case v1alpha1.PhaseInterference:
		// An interference phase becomes a Measure step for each block. In regime Baseline, a Drain step precedes them.
		p.interference(phase.Interference)
	default: // the phase has no kind, which refusePhasesWithoutKind reports
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

// lasting parses the duration of a measurement. It reports a problem if the duration is below one second, because such
// a step measures nothing.
func (m *maker) lasting(path *field.Path, text v1alpha1.Duration) time.Duration {
	length, err := text.Parse()
	switch {
	case err != nil:
		m.problems = append(m.problems, field.Invalid(path, string(text), err.Error()))
	case length < time.Second:
		m.problems = append(m.problems, field.Invalid(path, string(text),
			"must be at least 1s, because a shorter step yields no figures: use a longer duration such as 60s"))
	}
	return length
}

// addOnce reports a problem once, even if several phases have it because they share a workload.
func (m *maker) addOnce(problems ...*field.Error) {
	for _, problem := range problems {
		if !slices.ContainsFunc(m.problems, func(known *field.Error) bool { return known.Error() == problem.Error() }) {
			m.problems = append(m.problems, problem)
		}
	}
}

// warn adds a warning to the plan, once.
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
