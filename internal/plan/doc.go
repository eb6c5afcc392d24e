// Package plan turns the specification of a run into its list of steps, before anything runs. It has no side effects
// and works offline. The operator stores the plan in the BenchmarkRun, `run --local` executes it, and `plan` prints it.
//
//	spec.run -> Resolve (profiles by name become inline workloads)
//	         -> Make    (phases become steps; problems are reported with their fields)
//
// A phase becomes one or more steps. For each kind of phase, a comment in maker.phase lists these steps.
//
// The planner tracks three states from step to step: the content of the files of each target, so that no step reads
// data that was never written; the space that the files need; and the credits that each bucket is expected to hold.
// The expected credits determine the lengths of pauses and cause warnings; the credits of a real run may differ.
//
// A plan depends only on the specification, the seed and the storage descriptions that are known before the run. A
// run stores the plan (Freeze) and is conducted from the stored form (Thaw), without planning again.
package plan
