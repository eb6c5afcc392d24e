package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
)

const (
	// storeScenario is the kind of store that the demo simulates and measures. claim is the name of both the store and
	// the PersistentVolumeClaim for it.
	storeScenario = "fsx-windows-32-hdd"
	claim         = "share"
)

// mount creates a simulated store with full credits on the node, and the PersistentVolumeClaim for it.
func (d *demo) mount(ctx context.Context) error {
	for _, which := range []sample{experiment, observed} {
		if err := d.prepare(ctx, which); err != nil {
			return err
		}
	}
	// Do not reuse the store of an earlier demo, because its credits may be spent.
	if err := d.unmount(ctx); err != nil {
		return err
	}
	d.show("bin/cluster", []string{"burst", "up", storeScenario, "--name", claim, "--namespace", namespace, "| kubectl apply -f -"})
	command := d.command(ctx, "bin/cluster", "burst", "up", storeScenario, "--name", claim, "--namespace", namespace)
	var objects bytes.Buffer
	command.Stdout, command.Stderr = &objects, os.Stderr
	d.mounted = true
	if err := command.Run(); err != nil {
		return failure(err, "bin/cluster burst up", "")
	}
	apply := d.kubectlCommand(ctx, "apply", "-f", "-")
	apply.Stdin, apply.Stdout, apply.Stderr = &objects, d.out, os.Stderr
	return failure(apply.Run(), "kubectl apply", "")
}

// unmount removes the claim, the volume and the store, if they exist.
func (d *demo) unmount(ctx context.Context) error {
	for _, arguments := range [][]string{
		{"-n", namespace, "delete", "persistentvolumeclaim", claim, "--ignore-not-found", "--timeout=1m"},
		{"delete", "persistentvolume", "burst-" + claim, "--ignore-not-found", "--timeout=1m"},
	} {
		if output, err := d.kubectlCommand(ctx, arguments...).CombinedOutput(); err != nil {
			return failure(err, "kubectl delete", string(output))
		}
	}
	if err := d.quiet(ctx, "bin/cluster", "burst", "down", "--name", claim); err != nil {
		return err
	}
	d.mounted = false
	return nil
}

func (d *demo) experiment(ctx context.Context) error { return d.benchmark(ctx, experiment) }

// compare prints the measured figures next to the figures that the simulated store recorded.
func (d *demo) compare(ctx context.Context) error {
	run, verdict := d.results(ctx, experiment)
	if run == nil {
		return verdict
	}
	text, err := json.Marshal(run)
	if err != nil {
		return fmt.Errorf("write the run: %w", err)
	}
	d.say("Measured figures, compared with the store's own record and settings:\n")
	command := d.command(ctx, "bin/cluster", "burst", "compare", "--name", claim)
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(text), d.out, os.Stderr
	if err := command.Run(); err != nil {
		return failure(err, "bin/cluster burst compare", "")
	}
	if err := d.unmount(ctx); err != nil {
		return err
	}
	d.next(run.Name, quickstart.name)
	return verdict
}
