// Command demo shows storagebench on a real Kubernetes cluster on this machine: it starts a one-node cluster, installs
// the operator, runs two samples and prints the results. The first sample is the quickstart, on a volume of this
// machine. The second measures a file server with burst credits. The demo simulates this server according to its
// documentation, and prints storagebench's results together with the simulated server's own record. Run it with `make
// demo` in the root of the repository.
//
// With -sample NAME, it runs only the named sample and prints its results: `make demo SAMPLE=search`.
//
// Every step detects what already exists, so the demo may be interrupted and run again at any time. The cluster stays
// up, so that you can explore it and run the demo again.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const (
	namespace = "storagebench-demo"
	// operatorNamespace is the namespace in which config/default installs the operator.
	operatorNamespace = "storagebench-system"
)

func main() {
	version := flag.String("version", "dev", "version of storagebench, used as the tag of the images")
	which := flag.String("sample", "", "run only this sample: quickstart, search, small-files, interference or observations")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	d := &demo{console: console{out: os.Stdout, began: time.Now()}, version: *version}
	err := d.run(ctx, *which)
	if ctx.Err() != nil {
		// Restore the default handling of interrupts, to let another interrupt kill the program immediately.
		stop()
		d.interrupted()
		d.endPrograms()
		os.Exit(130)
	}
	d.endPrograms()
	if err != nil && d.mounted {
		if left := d.unmount(ctx); left != nil {
			d.say("error: %v", left)
		}
	}
	stop()
	if err != nil {
		d.say("error: %v", err)
		os.Exit(1)
	}
}

type demo struct {
	console
	version string
	// kubectl is the path of the kubectl program, and kubeconfig is the path of the file with the credentials of the
	// demo's cluster. Both are empty until the cluster is up.
	kubectl, kubeconfig string
	// asked is the name of the benchmark that the demo is waiting for: it was applied but has no verdict yet. It is ""
	// if there is none.
	asked string
	// mounted is true while a simulated store is mounted on the node.
	mounted bool
	// atEnd holds functions that stop the background programs of the demo, such as Prometheus.
	atEnd []func()
}

// step is one step of the demo, with the title that is printed when the step begins.
type step struct {
	title string
	do    func(context.Context) error
}

func (d *demo) run(ctx context.Context, only string) error {
	if _, err := os.Stat(quickstart.file); err != nil {
		return errors.New("the working directory is not the root of the repository: run `make demo` there")
	}
	steps := []step{
		{"Kubernetes on this machine (the first start builds its programs from Go modules: 10 to 15 minutes on two cores)", d.clusterUp},
		{"Images of the operator and of fio", d.makeImages},
		{"Images into the cluster", d.loadImages},
		{"The operator", d.install},
	}
	chosen, err := d.chosen(only)
	if err != nil {
		return err
	}
	steps = append(steps, chosen...)
	d.steps = len(steps)
	for _, step := range steps {
		d.begin(step.title)
		if err := step.do(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) endPrograms() {
	for _, end := range d.atEnd {
		end()
	}
}

// interrupted cleans up after an interrupt: it deletes a running benchmark, which would otherwise continue unattended.
func (d *demo) interrupted() {
	d.say("Interrupted.")
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if d.asked != "" {
		d.say("Deleting the benchmark, which stops its clients")
		if err := d.remove(ctx, d.asked, time.Minute); err != nil {
			d.say("error: %v", err)
		}
	}
	if d.mounted {
		if err := d.unmount(ctx); err != nil {
			d.say("error: %v", err)
		}
	}
	if d.kubeconfig != "" {
		d.say("The cluster keeps running: stop it with `bin/cluster down`, or continue with `make demo`.")
	}
}

func (d *demo) clusterUp(ctx context.Context) error {
	if err := d.quiet(ctx, "go", "build", "-o", "bin/cluster", "./test/cluster/cmd/cluster"); err != nil {
		return err
	}
	kubeconfig, err := d.output(ctx, "bin/cluster", "up")
	if err != nil {
		return fmt.Errorf("the cluster did not start; `make demo-local` runs without a cluster: %w", err)
	}
	kubectl, err := d.output(ctx, "go", "run", "./test/binaries/cmd/build", "kubectl")
	if err != nil {
		return err
	}
	// Link kubectl into bin. Users who add bin to their PATH then have kubectl with kubectl-storagebench as a plugin.
	if err := os.MkdirAll("bin", 0o755); err != nil {
		return fmt.Errorf("make the directory bin: %w", err)
	}
	if err := os.Remove("bin/kubectl"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("replace bin/kubectl: %w", err)
	}
	if err := os.Symlink(kubectl, "bin/kubectl"); err != nil {
		return fmt.Errorf("link kubectl into bin: %w", err)
	}
	d.kubectl, d.kubeconfig = "bin/kubectl", kubeconfig
	return d.kubectlRun(ctx, "get", "nodes")
}

func (d *demo) makeImages(ctx context.Context) error {
	return d.passed(ctx, "make", "--no-print-directory", "build", "images", "manifests", "VERSION="+d.version)
}

func (d *demo) loadImages(ctx context.Context) error {
	return d.passed(ctx, "bin/cluster", "load-image", "bin/images/operator.tar", "bin/images/fio.tar")
}
