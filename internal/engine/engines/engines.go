// Package engines lists all engines. Only this package knows which field of the API belongs to which engine.
package engines

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine"
	"github.com/storagebench/storagebench/internal/engine/command"
	"github.com/storagebench/storagebench/internal/engine/fio"
	"github.com/storagebench/storagebench/internal/engine/ior"
)

// table contains the traits of each engine, and the function that creates an Engine from a specification.
var table = []struct {
	traits engine.Traits
	load   func(spec *v1alpha1.Engine) engine.Engine
}{
	{fio.Traits, func(spec *v1alpha1.Engine) engine.Engine { return fio.Engine{Profile: spec.Fio} }},
	{ior.Traits, func(spec *v1alpha1.Engine) engine.Engine { return ior.Engine{Profile: spec.IOR} }},
	{ior.MdtestTraits, func(spec *v1alpha1.Engine) engine.Engine { return ior.Mdtest{Profile: spec.Mdtest} }},
	{command.Traits, func(spec *v1alpha1.Engine) engine.Engine { return command.Engine{Profile: spec.Command} }},
}

// Known reports whether an engine of the given kind exists.
func Known(kind v1alpha1.EngineKind) bool {
	for _, one := range table {
		if one.traits.Kind == kind {
			return true
		}
	}
	return false
}

// Missing returns the message for a workload that sets no engine.
func Missing() string {
	var kinds []string
	for _, one := range table {
		kinds = append(kinds, string(one.traits.Kind))
	}
	last := len(kinds) - 1
	return "no engine: set " + strings.Join(kinds[:last], ", ") + " or " + kinds[last]
}

// Source returns a hint on where to get a program that is rarely preinstalled. For other programs it returns "".
func Source(program string) string {
	for _, one := range table {
		if source := one.traits.Sources[program]; source != "" {
			return source
		}
	}
	return ""
}

// Of returns the load that a specification describes, or the zero value if the specification sets no engine.
func Of(spec *v1alpha1.Engine) engine.Load {
	if spec == nil {
		return engine.Load{}
	}
	kind := spec.EngineKind()
	for _, one := range table {
		if one.traits.Kind == kind {
			return engine.Load{Traits: one.traits, Engine: one.load(spec)}
		}
	}
	return engine.Load{}
}

// Resize sets the dataset size in the profile of a specification. The size is validated later, with the rest of the
// profile.
func Resize(path *field.Path, spec *v1alpha1.Engine, size resource.Quantity) *field.Error {
	if spec.Fio == nil {
		return field.Forbidden(path, "only fio profiles have a dataset size, but this profile uses "+
			string(spec.EngineKind())+": remove datasetSize, or replace the reference with the profile's spec")
	}
	return fio.Resize(path, spec.Fio, size)
}

// KeepRun copies details of the tool's execution in a cell, such as its command line, to the result of the phase. The
// command line is the same for all cells, except for the number of ranks. KeepRun does not copy the tool's own figures,
// which would take too much space for all cells.
func KeepRun(into, cell *v1alpha1.TargetResult) {
	if cell.IOR != nil {
		into.IOR = &v1alpha1.IORResult{MPIRun: cell.IOR.MPIRun, API: cell.IOR.API, DataPattern: cell.IOR.DataPattern}
	}
}

// OmitRepetitions removes repetitions from the result of a target, so that each operation lists at most the given
// number. It does not change the figures over all repetitions.
func OmitRepetitions(target *v1alpha1.TargetResult, most int) {
	if target.IOR == nil {
		return
	}
	for i := range target.IOR.Operations {
		ior.OmitRepetitions(&target.IOR.Operations[i], most)
	}
}
