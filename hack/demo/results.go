package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// results shows the results as users see them, and returns the run. If the benchmark did not pass, it returns both the
// run and an error.
func (d *demo) results(ctx context.Context, which sample) (*v1alpha1.BenchmarkRun, error) {
	if err := d.kubectlRun(ctx, "-n", namespace, "get", "storagebenchmarks,benchmarkruns"); err != nil {
		return nil, err
	}
	var found v1alpha1.StorageBenchmark
	if err := d.get(ctx, "storagebenchmark", which.name, &found); err != nil {
		return nil, err
	}
	ready := meta.FindStatusCondition(found.Status.Conditions, v1alpha1.ConditionReady)
	if found.Status.LastRun == nil {
		return nil, fmt.Errorf("the benchmark has no run: Ready is %s, %s: %s", ready.Status, ready.Reason, ready.Message)
	}
	var run v1alpha1.BenchmarkRun
	if err := d.get(ctx, "benchmarkrun", found.Status.LastRun.Name, &run); err != nil {
		return nil, err
	}
	if err := d.report(ctx, run.Name); err != nil {
		return nil, err
	}
	if ready.Status != metav1.ConditionTrue {
		return &run, fmt.Errorf("the benchmark did not pass: Ready is %s, %s: %s", ready.Status, ready.Reason, ready.Message)
	}
	return &run, nil
}

// get reads an object in the demo's namespace.
func (d *demo) get(ctx context.Context, kind, name string, into any) error {
	text, err := d.kubectlCommand(ctx, "-n", namespace, "get", kind, name, "-o", "json").Output()
	if err != nil {
		return failure(err, "kubectl get", "")
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("read %s %s: %w", kind, name, err)
	}
	return nil
}

// report prints the report of a run. It ignores the exit code of kubectl-storagebench, which only repeats the verdict
// of the Ready condition.
func (d *demo) report(ctx context.Context, run string) error {
	arguments := []string{"report", "run/" + run, "--namespace", namespace}
	d.show("kubectl storagebench", arguments)
	command := d.command(ctx, "bin/kubectl-storagebench", arguments...)
	command.Env = d.environment()
	command.Stdout, command.Stderr = d.out, os.Stderr
	if err := command.Run(); err != nil && command.ProcessState == nil {
		return failure(err, "kubectl-storagebench", "")
	}
	return nil
}

// next prints the commands that a user would type next.
func (d *demo) next(run, benchmark string) {
	folder, err := os.Getwd()
	if err != nil {
		folder = "."
	}
	noProxy := ""
	if os.Getenv("HTTPS_PROXY") != "" || os.Getenv("https_proxy") != "" {
		noProxy = " NO_PROXY='*'"
	}
	_, _ = fmt.Fprintf(d.out, `
== Next
  export KUBECONFIG=%[1]s PATH=%[2]s/bin:$PATH%[6]s
  kubectl -n %[3]s get storagebenchmarks,benchmarkruns
  kubectl -n %[3]s describe benchmarkrun %[4]s
  kubectl storagebench report run/%[4]s -n %[3]s
  # run %[5]s again:
  kubectl -n %[3]s annotate storagebenchmark %[5]s --overwrite storagebench.dev/requested-at="$(date)"
  # delete it, its runs and their results:
  kubectl -n %[3]s delete storagebenchmark %[5]s
  # stop the cluster:
  cluster down

`, d.kubeconfig, folder, namespace, run, benchmark, noProxy)
}
