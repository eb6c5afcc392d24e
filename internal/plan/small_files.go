package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// smallFiles plans one step per operation; each step applies its operation to all files. It does not use the data that
// other phases lay out, and does not lay out data for them.
func (p *phaseMaker) smallFiles(phase *v1alpha1.SmallFilesPhase) {
	before := len(p.problems)
	at := p.path.Child("smallFiles")
	operations := phase.OperationsOrDefault()
	p.refuseFileOperations(at.Child("operations"), operations)
	limit := p.deadline
	if phase.MaxDuration != nil {
		limit = p.lasting(at.Child("maxDuration"), *phase.MaxDuration)
	}
	if !p.loadable() || len(p.problems) > before {
		return
	}
	for _, target := range targetNames(p.run) {
		if load := p.loads[target]; !load.SmallFiles {
			p.addOnce(field.Invalid(p.path, p.phase.Name, fmt.Sprintf(
				"target %s uses %s, which does not support operations on individual files: use a fio workload for the phase", target, load.Kind)))
		}
	}
	if len(p.problems) > before {
		return
	}
	for _, group := range p.groups() {
		for _, operation := range operations {
			step := p.step(Measure, group)
			step.Overrides.Operation, step.Limit = operation, limit
			if !p.add(step, strings.ToLower(string(operation))) {
				return
			}
		}
	}
}

// fileState is the state of the files between the operations of a smallFiles phase.
type fileState int

const (
	filesMissing fileState = iota
	filesEmpty
	filesWritten
)

// refuseFileOperations reports operations for which the preceding operations leave no suitable files. Admission also
// refuses most of them.
func (p *phaseMaker) refuseFileOperations(at *field.Path, operations []v1alpha1.Operation) {
	refuseTwice(p.maker, at, operations)
	files := filesMissing
	for i, operation := range operations {
		path, why := at.Index(i), ""
		if i == 0 {
			// Use the path at which admission reports an unsuitable first operation. Because callers show only one problem per
			// field, users do not see the problem twice.
			path = at
		}
		switch operation {
		case v1alpha1.OperationCreate:
			files = filesEmpty
		case v1alpha1.OperationWrite:
			files = filesWritten
		case v1alpha1.OperationRead:
			if files != filesWritten {
				why = "needs files with data: put Write before it"
			}
		case v1alpha1.OperationStat, v1alpha1.OperationDelete:
			if files == filesMissing {
				why = "needs existing files: put Create or Write before it"
			}
			if operation == v1alpha1.OperationDelete {
				files = filesMissing
			}
		default:
			p.problems = append(p.problems, field.NotSupported(at.Index(i), operation, slices.Sorted(slices.Values(v1alpha1.FileOperations))))
		}
		if why != "" {
			p.problems = append(p.problems, field.Invalid(path, operation, why))
		}
	}
}
