package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// results shows the result as users look at it. It fails when the verdict is bad.
func (d *demo) results(ctx context.Context) error {
	if err := d.kubectlRun(ctx, "-n", namespace, "get", "storagebenchmarks,benchmarkruns"); err != nil {
		return err
	}
	text, err := d.kubectlCommand(ctx, "-n", namespace, "get", "storagebenchmark", benchmark, "-o", "json").Output()
	if err != nil {
		return failure(err, "kubectl get", "")
	}
	var found v1alpha1.StorageBenchmark
	if err := json.Unmarshal(text, &found); err != nil {
		return fmt.Errorf("read the benchmark: %w", err)
	}
	ready := meta.FindStatusCondition(found.Status.Conditions, v1alpha1.ConditionReady)
	if found.Status.LastRun == nil {
		return fmt.Errorf("there is no run: Ready is %s, %s: %s", ready.Status, ready.Reason, ready.Message)
	}
	run := found.Status.LastRun.Name
	if err := d.report(ctx, run); err != nil {
		return err
	}
	d.next(run)
	if ready.Status != metav1.ConditionTrue {
		return fmt.Errorf("the benchmark did not pass: Ready is %s, %s: %s", ready.Status, ready.Reason, ready.Message)
	}
	return nil
}

// report shows the figures. Its exit code is a verdict on the run, which Ready tells too.
func (d *demo) report(ctx context.Context, run string) error {
	text, err := d.kubectlCommand(ctx, "-n", namespace, "get", "benchmarkrun", run, "-o", "json").Output()
	if err != nil {
		return failure(err, "kubectl get", "")
	}
	d.say("$ kubectl -n %s get benchmarkrun %s -o json | kubectl storagebench report -\n", namespace, run)
	command := d.command(ctx, "bin/kubectl-storagebench", "report", "-")
	command.Stdin = bytes.NewReader(text)
	command.Stdout, command.Stderr = d.out, os.Stderr
	if err := command.Run(); err != nil && command.ProcessState == nil {
		return failure(err, "kubectl-storagebench", "")
	}
	return nil
}

// next is what a user would type now.
func (d *demo) next(run string) {
	folder, err := os.Getwd()
	if err != nil {
		folder = "."
	}
	_, _ = fmt.Fprintf(d.out, `
== Next
  export KUBECONFIG=%s PATH=%s/bin:$PATH
  kubectl -n %[3]s get storagebenchmarks,benchmarkruns
  kubectl -n %[3]s describe benchmarkrun %[4]s
  kubectl -n %[3]s get benchmarkrun %[4]s -o json | kubectl storagebench report -
  # one more run of the same:
  kubectl -n %[3]s annotate storagebenchmark %[5]s --overwrite storagebench.dev/requested-at="$(date)"
  # away with it, its runs and their results:
  kubectl -n %[3]s delete storagebenchmark %[5]s
  # the end of the cluster:
  cluster down

`, d.kubeconfig, folder, namespace, run, benchmark)
}
