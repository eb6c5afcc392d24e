package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

const (
	// patience is the time limit for a benchmark. The longest benchmark normally takes nine minutes.
	patience = 20 * time.Minute
	// removal is the time limit for the removal of a benchmark.
	removal = 3 * time.Minute
)

// sample is a benchmark that the demo can run. file is the path of its manifest.
type sample struct{ name, file string }

var (
	quickstart = sample{"quickstart", "config/samples/quickstart.yaml"}
	experiment = sample{"fsx-windows-in-small", "config/samples/fsx-windows-32-hdd-in-small.yaml"}
)

// benchmark runs a sample and waits for the operator's verdict, good or bad.
func (d *demo) benchmark(ctx context.Context, which sample) error {
	d.asked = which.name
	if err := d.kubectlRun(ctx, "-n", namespace, "apply", "-f", which.file); err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := d.follow(bounded, which.name); err != nil {
		if ctx.Err() == nil {
			d.explain(ctx)
		}
		return err
	}
	d.asked = ""
	return nil
}

// remove deletes a benchmark and waits until its client pods have been deleted. They would otherwise load the volume
// that the next benchmark measures.
func (d *demo) remove(ctx context.Context, benchmark string, patience time.Duration) error {
	timeout := "--timeout=" + patience.String()
	if err := d.kubectlRun(ctx, "-n", namespace, "delete", "storagebenchmark", benchmark, "--ignore-not-found", timeout); err != nil {
		return err
	}
	return d.kubectlRun(ctx, "-n", namespace, "wait", "--for=delete", "pods,benchmarkruns", "-l", v1alpha1.LabelBenchmark+"="+benchmark, timeout)
}

// follow prints the progress of a benchmark until it has a verdict.
func (d *demo) follow(ctx context.Context, benchmark string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	benchmarks := watch[v1alpha1.StorageBenchmark](ctx, d, "storagebenchmarks")
	runs := watch[v1alpha1.BenchmarkRun](ctx, d, "benchmarkruns")
	told := teller{say: d.say, now: time.Now, steps: map[string]bool{}}
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the benchmark has no verdict after %v: %w", patience, ctx.Err())
		case run := <-runs:
			if run.Spec.BenchmarkRef.Name == benchmark && run.DeletionTimestamp == nil {
				told.run(run)
			}
		case seen := <-benchmarks:
			if seen.Name != benchmark || seen.DeletionTimestamp != nil {
				continue
			}
			told.benchmark(seen)
			if judged(seen) {
				return nil
			}
		}
	}
}

// judged reports whether the current generation of the benchmark has a verdict.
func judged(b *v1alpha1.StorageBenchmark) bool {
	ready := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady)
	return ready != nil && ready.Status != metav1.ConditionUnknown && b.Status.ObservedGeneration == b.Generation &&
		!meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionReconciling) &&
		!meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionRunning)
}

// explain prints the objects, events and log lines that usually show why a benchmark makes no progress.
func (d *demo) explain(ctx context.Context) {
	d.look(ctx, "-n", namespace, "get", "benchmarkruns,pods,persistentvolumeclaims", "-o", "wide")
	d.look(ctx, "-n", namespace, "get", "events", "--field-selector=type!=Normal", "--sort-by=.lastTimestamp")
	d.look(ctx, "-n", operatorNamespace, "logs", "deployment/storagebench-operator", "--tail=30")
}
