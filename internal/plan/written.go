package plan

import (
	"math"
	"slices"

	"github.com/storagebench/storagebench/internal/engine"
	"github.com/storagebench/storagebench/internal/limits"
)

// Written describes how much a run writes, over all clients and targets, predicted from what is known before the
// run.
type Written struct {
	// LayoutBytes counts the bytes that layouts and preconditioning write.
	LayoutBytes uint64 `json:"layoutBytes"`
	// MeasuredBytes counts the bytes that measured phases write. It assumes that the phases take as long as expected, and
	// that the storage is as fast as its documented limits, the rate limits of the workloads and the highest rates of
	// searches allow. A mixed load counts as if it only wrote. The phases in Unbounded are excluded.
	MeasuredBytes uint64 `json:"measuredBytes"`
	// Unbounded lists the phases whose writes are bounded neither by documented limits nor by a rate limit, so the amount
	// depends on the storage or a program.
	Unbounded []string `json:"unbounded,omitempty"`
}

// Written returns how much the steps of the plan write.
func (p Plan) Written() Written {
	var sum Written
	var measured float64
	for i := range p.Steps {
		step := &p.Steps[i]
		if step.Purpose == Idle {
			continue
		}
		for _, target := range step.Targets {
			bytes, known := p.writtenBy(step, target)
			use := step.For(target)
			switch {
			case !known:
				if !slices.Contains(sum.Unbounded, step.Phase) {
					sum.Unbounded = append(sum.Unbounded, step.Phase)
				}
			case use.Layout():
				sum.LayoutBytes += uint64(bytes)
			default:
				measured += bytes
			}
		}
	}
	sum.MeasuredBytes = uint64(min(measured, math.MaxInt64))
	return sum
}

// writtenBy returns the maximum number of bytes that a step writes to a target. known is false if that number is
// unknown.
func (p Plan) writtenBy(step *Step, target string) (bytes float64, known bool) {
	load, use := step.Load(target), step.For(target)
	if load.Kind == "" {
		return 0, true
	}
	made, err := load.Describe(&use)
	if err != nil || load.Opaque {
		return 0, false
	}
	all := float64(made.ClientBytes) * float64(step.Clients)
	switch {
	case step.Purpose == Precondition:
		return all * float64(step.Passes), !made.Metadata
	case step.Reused[target]:
		return 0, true
	case step.Purpose == Prepare:
		return all, !made.Metadata
	case !made.Writes || made.NoStorage:
		return 0, true
	case step.Overrides.Operation != "":
		return all, true // the operation writes each file once
	case made.Metadata || step.WorkBound():
		return 0, false // the amount is unknown, because the tool decides how often it repeats its work
	}
	lasts := step.WarmUp + step.Duration
	if step.Adaptive() && step.Expected > 0 {
		lasts = min(lasts, step.Expected)
	}
	seconds, full := lasts.Seconds(), 1.0
	if credits, known := step.Credits[target]; known {
		full = credits.FullestPercent / 100
	}
	limited := float64(step.Clients) * made.Limit()
	if step.MaxIOPS > 0 {
		limited = float64(step.MaxIOPS) * float64(made.BlockBytes)
	}
	documented, found := p.documentedBytes(step.Phase, target, &made, seconds, full)
	switch {
	case limited > 0 && found:
		return min(limited*seconds, documented), true
	case limited > 0:
		return limited * seconds, true
	}
	return documented, found
}

// documentedBytes returns how many bytes a load can transfer in the given number of seconds under the documented limits
// of a target. full is the initial fill level of the credit buckets, from 0 to 1. known is false if the limits are
// unknown.
func (p Plan) documentedBytes(phase, target string, made *engine.Description, seconds, full float64) (bytes float64, known bool) {
	load := limits.Load{BlockBytes: float64(made.BlockBytes), Operation: operation(made.Reads, made.Writes)}
	at := slices.IndexFunc(p.Promises, func(one Promise) bool {
		return one.Target == target && slices.Contains(one.Phases, phase) && one.BlockBytes == load.BlockBytes && one.Operation == load.Operation
	})
	if at < 0 {
		return 0, false
	}
	promise := &p.Promises[at]
	for _, level := range promise.Levels {
		if level.BytesPerSecond <= 0 || math.IsInf(level.BytesPerSecond, 0) {
			return 0, false
		}
		lasts := seconds
		if level.Seconds != nil {
			lasts = min(lasts, full**level.Seconds) // the level is shorter if the bucket is not full at the start
		}
		bytes += level.BytesPerSecond * lasts
		seconds -= lasts
	}
	if len(promise.Levels) > 0 {
		return bytes, true
	}
	for _, rate := range []*PromisedRate{promise.Burst, promise.Baseline} {
		if rate != nil && rate.BytesPerSecond > 0 {
			return rate.BytesPerSecond * seconds, true
		}
	}
	return 0, false
}
