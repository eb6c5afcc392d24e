package plan

import (
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Striping describes how files are distributed over the OSTs of Lustre.
type Striping struct {
	// Count is the number of OSTs: -1 for all, 0 for the file system's default.
	Count int32
	// SizeBytes is the stripe size, or 0 for the file system's default.
	SizeBytes uint64
}

const (
	maxStripes     = 2000
	stripeUnit     = 64 << 10
	maxStripeBytes = math.MaxUint32
)

// findStriping finds the striping of each target that sets one. It refuses invalid values. Admission also refuses most
// of them, but a plan must not depend on admission.
func (m *maker) findStriping() {
	m.striping = map[string]Striping{}
	for i := range m.run.Targets {
		target := &m.run.Targets[i]
		if target.Lustre == nil {
			continue
		}
		path := m.root.Child("targets").Index(i).Child("lustre")
		striping := stripingOf(target.Lustre)
		if count := target.Lustre.StripeCount; count != nil {
			if *count < -1 || *count == 0 || *count > maxStripes {
				m.addOnce(field.Invalid(path.Child("stripeCount"), *count, fmt.Sprintf(
					"must be from 1 to %d, or -1 for all object storage targets; remove it to use the file system's default", maxStripes)))
			}
		}
		if size := target.Lustre.StripeSize; size != nil {
			bytes := size.Value()
			if bytes < stripeUnit || bytes > maxStripeBytes || bytes%stripeUnit != 0 {
				m.addOnce(field.Invalid(path.Child("stripeSize"), size.String(), "must be a multiple of 64Ki below 4Gi, such as 1Mi"))
			}
		}
		if striping == (Striping{}) {
			m.addOnce(field.Required(path, "set stripeCount, stripeSize or both, or remove lustre"))
		}
		m.striping[target.Name] = striping
	}
}

// stripe sets the striping in each step that loads a target with striping settings.
func (m *maker) stripe() {
	m.findStriping()
	for i := range m.plan.Steps {
		step := &m.plan.Steps[i]
		for _, target := range step.Targets {
			if striping, asked := m.striping[target]; asked && step.Clients > 0 {
				step.stripe(target, striping)
			}
		}
	}
}

// stripe sets the striping of the files on a target.
func (s *Step) stripe(target string, striping Striping) {
	if s.Striping == nil {
		s.Striping = map[string]Striping{}
	}
	s.Striping[target] = striping
}

func stripingOf(asked *v1alpha1.LustreStriping) Striping {
	var striping Striping
	if asked.StripeCount != nil {
		striping.Count = *asked.StripeCount
	}
	if asked.StripeSize != nil {
		striping.SizeBytes = uint64(max(asked.StripeSize.Value(), 0))
	}
	return striping
}
