package plan

import (
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// maxProcesses is the API's limit on the number of ranks per client.
const maxProcesses = 1024

// ramp plans a step for each value of one dimension, in order.
func (p *phaseMaker) ramp(phase *v1alpha1.RampPhase) {
	before := len(p.problems)
	at := p.path.Child("ramp")
	switch phase.Dimension {
	case v1alpha1.RampClients, v1alpha1.RampJobs, v1alpha1.RampQueueDepth, v1alpha1.RampProcesses:
	default:
		p.problems = append(p.problems, field.NotSupported(at.Child("dimension"), phase.Dimension,
			[]v1alpha1.RampDimension{v1alpha1.RampClients, v1alpha1.RampJobs, v1alpha1.RampQueueDepth, v1alpha1.RampProcesses}))
	}
	p.refuseValues(at.Child("steps"), phase)
	warmUp := p.duration(at.Child("warmUp"), phase.WarmUp)
	duration := p.lasting(at.Child("stepDuration"), phase.StepDuration)
	if !p.loadable() || len(p.problems) > before {
		return
	}
	for _, group := range p.groups() {
		if !p.setUpBefore(group) {
			return
		}
		for i, value := range phase.Steps {
			step := p.measured(group, warmUp, duration)
			step.Cell = i
			switch phase.Dimension {
			case v1alpha1.RampClients:
				step.Clients = int(value)
			case v1alpha1.RampJobs:
				step.Overrides.Jobs = int32(value) //nolint:gosec // Bounded by refuseValues.
			case v1alpha1.RampQueueDepth:
				step.Overrides.QueueDepth = int32(value) //nolint:gosec // Bounded by refuseValues.
			case v1alpha1.RampProcesses:
				step.Processes = int(value)
				step.Overrides.Processes = int32(value) //nolint:gosec // Bounded by refuseValues.
			}
			if !p.add(step, "") {
				return
			}
		}
	}
}

// refuseValues reports missing values, or the first invalid one.
func (p *phaseMaker) refuseValues(at *field.Path, phase *v1alpha1.RampPhase) {
	if len(phase.Steps) == 0 {
		p.problems = append(p.problems, field.Required(at, "use increasing values, such as [1, 2, 4, 8]"))
	}
	most := int64(math.MaxInt32)
	switch phase.Dimension { //nolint:exhaustive // The others have no bound of their own.
	case v1alpha1.RampClients:
		most = int64(p.plan.ClientsPerTarget)
	case v1alpha1.RampProcesses:
		most = maxProcesses
	}
	for i, value := range phase.Steps {
		switch {
		case value < 1:
			p.problems = append(p.problems, field.Invalid(at.Index(i), value, "must be at least 1"))
			return
		case i > 0 && value <= phase.Steps[i-1]:
			p.problems = append(p.problems, field.Invalid(at, phase.Steps, "use increasing values: sort them and remove duplicates"))
			return
		case value > most:
			remedy := "lower it"
			if phase.Dimension == v1alpha1.RampClients {
				remedy = "lower it, or raise clients.count"
			}
			p.problems = append(p.problems, field.Invalid(at.Index(i), value, fmt.Sprintf("must be at most %d: %s", most, remedy)))
			return
		}
	}
}
