// Package v1alpha1 defines the kinds of storagebench: the objects with which users request
// benchmarks, and the record of each run.
//
// The operator, the command line and third-party programs share these definitions. Besides the
// standard library, the package imports only apimachinery and core/v1. It defines four kinds:
//
//	StorageBenchmark         what to measure, when, and which figures are good enough
//	WorkloadProfile          a named workload for the benchmarks of its namespace
//	ClusterWorkloadProfile   the same, for every namespace
//	BenchmarkRun             one run: its frozen spec and its results
//
// Rules for all types: durations in a spec have the string type Duration, or ShortDuration for
// latencies; sizes and rates in a spec are quantities; figures in a status are integers whose names
// include the unit; there are no floats; every list and string is bounded.
//
// To keep the CRDs small, a field's description in a CRD is only the first sentence of its comment and, for fields that
// users write, the sentences that begin with "Defaults to", "If unset" or "Only"; docs/reference/api.md has the whole
// comment.
//
// +kubebuilder:object:generate=true
// +groupName=storagebench.dev
package v1alpha1
