// Package plan turns the specification of a run into the list of steps that will run, before
// anything runs. It is pure, and works offline: the operator freezes its result into the
// BenchmarkRun, `run --local` drives it, and `plan` prints it.
//
//	spec.run -> Resolve (profiles by name become inline workloads)
//	         -> Make    (phases become steps; what cannot run is refused with its field)
package plan
