package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// dataset is what lies on a target after the steps so far.
type dataset struct {
	// laidOut is the bytes that phases so far have written for certain in each file.
	laidOut map[string]uint64
	// reserved is the size that each file may have reached: a measured step writes as far as it
	// gets in its time.
	reserved map[string]uint64
	// reservedFor, laidOutFor and readableBy are files that this was done for, or proven of, before: doing it
	// again changes nothing, and there can be many.
	reservedFor, laidOutFor, readableBy map[filesKey]bool
	// laidRanks and reservedRanks are the same of jobs of MPI. brokenBy is the phase that has written anew what
	// was laid out.
	laidRanks, reservedRanks rankFiles
	brokenBy                 string
	// programs are those of the user for which space was kept.
	programs map[string]bool
	// unknown says that a phase which would have laid data out could not be planned.
	unknown bool
}

func (m *maker) dataset(target string) *dataset {
	if m.datasets[target] == nil {
		m.datasets[target] = &dataset{
			laidOut: map[string]uint64{}, reserved: map[string]uint64{},
			reservedFor: map[filesKey]bool{}, laidOutFor: map[filesKey]bool{}, readableBy: map[filesKey]bool{},
			programs:  map[string]bool{},
			laidRanks: rankFiles{}, reservedRanks: rankFiles{},
		}
	}
	return m.datasets[target]
}

// readable proves that a step reads nothing that nobody wrote.
func (m *maker) readable(path *field.Path, target string, step *Step, profile *v1alpha1.FioProfile) bool {
	traits, err := m.describe(profile, step.Overrides)
	if err != nil {
		m.addOnce(field.Invalid(path, step.Phase, err.Error()))
		return false
	}
	data, key := m.dataset(target), filesOf(profile, step.Overrides)
	if data.unknown || step.WorkBound() || !reads(profile, traits, step.Overrides) || data.readableBy[key] {
		return true
	}
	first := ""
	for name, size := range traits.FileSizes {
		if data.laidOut[name] < size && (first == "" || name < first) {
			first = name
		}
	}
	if first != "" {
		m.addOnce(field.Invalid(path, step.Phase, fmt.Sprintf(
			"it reads %d bytes of each client's file %s on target %s, of which earlier phases lay out %d: "+
				"reads of bytes that nobody wrote measure nothing. Put a phase with `prepare: {}` and the same "+
				"workload before it", traits.FileSizes[first], first, target, data.laidOut[first])))
		return false
	}
	data.readableBy[key] = true
	return true
}

// planLayout follows what lies in the files of a target, and the space that each step takes.
func (m *maker) planLayout(enginePath *field.Path, target string, step *Step, profile *v1alpha1.FioProfile) {
	traits, err := m.describe(profile, step.Overrides)
	if err != nil {
		return // told already
	}
	for _, caution := range traits.Cautions {
		m.warn(enginePath.Child("fio"), "%s", caution)
	}
	data, key := m.dataset(target), filesOf(profile, step.Overrides)
	if !data.reservedFor[key] {
		for name, size := range traits.FileSizes {
			if size > data.reserved[name] {
				step.NewBytes[target] += size - data.reserved[name]
				data.reserved[name] = size
			}
		}
		data.reservedFor[key] = true
	}
	if step.Purpose == Prepare && !data.laidOutFor[key] {
		for name, size := range traits.FileSizes {
			data.laidOut[name] = max(data.laidOut[name], size)
		}
		data.laidOutFor[key] = true
	}
}
