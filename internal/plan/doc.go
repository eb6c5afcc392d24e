// Package plan turns the specification of a run into its list of steps, before anything runs. It is pure and works
// offline: the operator freezes its result into the BenchmarkRun, `run --local` drives it, and `plan` prints it.
//
//	spec.run -> Resolve (profiles by name become inline workloads)
//	         -> Make    (phases become steps; problems are reported with their fields)
//
// A phase becomes one or more steps: maker.phase lists which, for each kind.
//
// The planner tracks three states from step to step: the content of the files of each target, so that no step reads
// data that was never written; the space that the files need; and the credits that each bucket is expected to hold.
// The expected credits determine the lengths of pauses and cause warnings; the credits of a real run may differ.
//
// A plan depends only on the specification, the seed and the storage descriptions that are known before the run. A
// run stores the plan (Freeze) and is conducted from the stored form (Thaw), without planning again.
package plan
