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
	if err := d.kubectlRun(ctx, "get", "storagebenchmarks,benchmarkruns"); err != nil {
		return err
	}
	text, err := d.kubectlCommand(ctx, "get", "storagebenchmark", benchmark, "-o", "json").Output()
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
		d.explain(ctx)
		return fmt.Errorf("the benchmark did not pass: Ready is %s, %s: %s", ready.Status, ready.Reason, ready.Message)
	}
	return nil
}

// report shows the figures. Its exit code is a verdict on the run, which Ready tells too.
func (d *demo) report(ctx context.Context, run string) error {
	text, err := d.kubectlCommand(ctx, "get", "benchmarkrun", run, "-o", "json").Output()
	if err != nil {
		return failure(err, "kubectl get", "")
	}
	d.say("$ kubectl get benchmarkrun %s -o json | kubectl storagebench report -\n", run)
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
  kubectl config set-context --current --namespace=%s
  kubectl get storagebenchmarks,benchmarkruns
  kubectl describe benchmarkrun %s
  kubectl get benchmarkrun %s -o json | kubectl storagebench report -
  kubectl annotate storagebenchmark %s storagebench.dev/requested-at="$(date)" --overwrite     # one more run
  kubectl delete storagebenchmark %s                                        # with its runs and their results
  cluster down                                                                  # ends the cluster

`, d.kubeconfig, folder, namespace, run, run, benchmark, benchmark)
}
