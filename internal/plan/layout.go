package plan

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine/fio"
)

// dataset is what lies on a target after the steps so far.
type dataset struct {
	// laidOut is the bytes that phases so far have written for certain in each file.
	laidOut map[string]uint64
	// reserved is the size that each file may have reached: a measured step writes as far as it
	// gets in its time.
	reserved map[string]uint64
	// unknown says that a phase which would have laid data out could not be planned.
	unknown bool
}

func (m *maker) dataset(target string) *dataset {
	if m.datasets[target] == nil {
		m.datasets[target] = &dataset{laidOut: map[string]uint64{}, reserved: map[string]uint64{}}
	}
	return m.datasets[target]
}

// layout follows what lies in the files of a target, so that no phase reads what nobody wrote and
// the space is known that each step takes.
func (m *maker) layout(path, enginePath *field.Path, target string, step *Step, profile *v1alpha1.FioProfile) bool {
	traits, err := fio.Describe(profile)
	if err != nil {
		m.addOnce(field.Invalid(path, step.Phase, err.Error()))
		return false
	}
	for _, caution := range traits.Cautions {
		if text := enginePath.Child("fio").String() + ": " + caution; !slices.Contains(m.plan.Warnings, text) {
			m.plan.Warnings = append(m.plan.Warnings, text)
		}
	}
	data := m.dataset(target)
	for _, name := range slices.Sorted(maps.Keys(traits.FileSizes)) {
		size := traits.FileSizes[name]
		if step.Purpose == Measure && traits.Reads && !data.unknown && data.laidOut[name] < size {
			m.problems = append(m.problems, field.Invalid(path, step.Phase, fmt.Sprintf(
				"it reads %d bytes of each client's file %s on target %s, of which earlier phases lay out %d: "+
					"reads of bytes that nobody wrote measure nothing. Put a phase with `prepare: {}` and the same "+
					"workload before it", size, name, target, data.laidOut[name])))
			return false
		}
		if size > data.reserved[name] {
			step.NewBytes[target] += size - data.reserved[name]
			data.reserved[name] = size
		}
		if step.Purpose == Prepare {
			data.laidOut[name] = max(data.laidOut[name], size)
		}
	}
	return true
}
