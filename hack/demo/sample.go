package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// others are samples that the demo runs only on request, with -sample. They use a volume that the cluster provisions,
// not a simulated store.
var others = []sample{
	{"search", "config/samples/search.yaml"},
	{"small-files", "config/samples/small-files.yaml"},
	{"interference", "config/samples/interference.yaml"},
}

// observed is a shorter version of the file server experiment that also records the credits that the store reports.
var observed = sample{"observed", "hack/demo/observed.yaml"}

// chosen returns the steps that run the named sample. If the name is empty, it returns the steps of the full demo: the
// quickstart and the file server with burst credits.
func (d *demo) chosen(name string) ([]step, error) {
	if name == "" {
		return []step{
			{"A first benchmark (about half a minute): " + quickstart.file, func(ctx context.Context) error {
				_, err := d.onClaim(ctx, quickstart)
				return err
			}},
			{"A store with burst credits: a scaled-down file server of 32 MB/s", d.mount},
			{"Its rates with and without credits (three minutes): " + experiment.file, d.experiment},
			{"The results, compared with the store's own record", d.compare},
		}, nil
	}
	var names []string
	for _, one := range append(others, quickstart) {
		if one.name == name {
			return []step{{one.file, func(ctx context.Context) error {
				run, err := d.onClaim(ctx, one)
				if run != nil {
					d.next(run.Name, one.name)
				}
				return err
			}}}, nil
		}
		names = append(names, one.name)
	}
	if name != "observations" {
		return nil, fmt.Errorf("unknown sample %q: use one of %s, observations", name, strings.Join(names, ", "))
	}
	return []step{
		{"A store with burst credits: a scaled-down file server of 32 MB/s", d.mount},
		{"A Prometheus on this machine that scrapes the store's credits", d.observe},
		{"A drain, compared with the credits that the store itself reports: " + observed.file, d.observed},
	}, nil
}

// onClaim runs a sample on a volume that the cluster provisions. If the benchmark did not pass, it returns both the run
// and an error.
func (d *demo) onClaim(ctx context.Context, which sample) (*v1alpha1.BenchmarkRun, error) {
	if err := d.prepare(ctx, which); err != nil {
		return nil, err
	}
	if err := d.kubectlRun(ctx, "-n", namespace, "apply", "-f", "config/samples/claims/quickstart.yaml"); err != nil {
		return nil, err
	}
	if err := d.benchmark(ctx, which); err != nil {
		return nil, err
	}
	return d.results(ctx, which)
}

// prepare creates the namespace and deletes the benchmark if an earlier demo left it behind. The operator would
// otherwise not run it again, because it already has a verdict.
func (d *demo) prepare(ctx context.Context, which sample) error {
	if err := d.kubectlRun(ctx, "apply", "-f", "hack/demo/namespace.yaml"); err != nil {
		return err
	}
	return d.remove(ctx, which.name, removal)
}

// observed runs a drain while Prometheus scrapes the store's credits.
func (d *demo) observed(ctx context.Context) error {
	if err := d.benchmark(ctx, observed); err != nil {
		return err
	}
	run, verdict := d.results(ctx, observed)
	if err := d.unmount(ctx); err != nil {
		return err
	}
	if run != nil {
		d.next(run.Name, observed.name)
	}
	return verdict
}
