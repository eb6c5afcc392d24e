// Package plan turns the specification of a run into the list of steps that will run, before
// anything runs. It is pure, and works offline: the operator freezes its result into the
// BenchmarkRun, `run --local` drives it, and `plan` prints it.
//
//	spec.run -> Resolve (profiles by name become inline workloads)
//	         -> Make    (phases become steps; what cannot run is refused with its field)
//
// A phase becomes one step or several:
//
//	prepare     Prepare, or Prepare Precondition
//	steady      Measure
//	burstDrain  Drain
//	cooldown    Idle, or Idle Drain
//	ramp        Measure for each value
//	sweep       [Drain] Measure for each cell, in an order by the seed; [Idle] before each of them
//
// Three things are carried from step to step: what lies in the files of each target, so that nothing
// is read that nobody wrote; the space that is taken; and the credits that each bucket is expected to
// hold. Credits decide on pauses and warn; what a run finds to be there is another thing.
//
// A plan follows from the specification and the seed alone: it is made again from them whenever a run is
// taken up, and has to be the one that the run has frozen.
package plan
