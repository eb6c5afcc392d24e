// Package v1alpha1 holds the kinds of storagebench: what a user writes to ask
// for a benchmark, and what is recorded about each run of it.
//
// The package exists so that the operator, the command line and other people's
// programs share one definition. It imports nothing but apimachinery and
// core/v1. Four kinds live here:
//
//	StorageBenchmark         what to measure, when, and which figures are good enough
//	WorkloadProfile          a named workload, in the namespace of its users
//	ClusterWorkloadProfile   the same, for every namespace
//	BenchmarkRun             one run: its frozen spec and its results
//
// Rules for all types: durations in a spec are the string type Duration; sizes
// and rates in a spec are quantities; figures in a status are integers with
// the unit in the name; there are no floats; every list and string is bounded.
//
// A field whose work is not built yet carries the validation marker
//
//	+kubebuilder:validation:XValidation:rule="false",message="... not built yet ..."
//
// on the field itself, so that using it is refused, never ignored. Whoever
// builds the work removes that one line; config/crd/testdata/notbuilt.golden
// lists all that is left.
//
// +kubebuilder:object:generate=true
// +groupName=storagebench.dev
package v1alpha1
