// Command cluster starts and stops a real Kubernetes on this machine, of one node
// or of several.
//
// Usage: go run ./test/cluster/cmd/cluster [--state FOLDER] COMMAND
//
//	up [--nodes N]      start it; nothing happens when it is up. With --nodes it has
//	                    N nodes then: others join, or the last ones leave. Without,
//	                    it keeps those that it has. Nodes that have died are started
//	                    again, except for the first, without which it begins anew
//	down                end it and remove everything that it made
//	status              what runs; the exit code is 0 when pods can run
//	load-image ARCHIVE  make the images of an archive known to all nodes
//	kubeconfig          print the path of its kubeconfig
//	kubectl ARGUMENT... run kubectl on it
//	burst up SCENARIO|FILE [--name NAME] [--namespace NAMESPACE]
//	                    mount a store of test/burstfs in the first node, and print the
//	                    volume and the claim for kubectl apply
//	burst truth|down [--name NAME]
//	                    what the store did, as CSV; or end it
//	burst export [--name NAME]
//	                    serve its credits for Prometheus, and print the address
//	burst compare [--name NAME] < RUN.json
//	                    the figures of a BenchmarkRun beside what the store did
//	burst list          the names of the stores
//	enter [--node NAME] COMMAND...
//	                    run a program in the namespaces of a node, the first one
//	                    unless it is named
//	run COMMAND...      run a program with the cluster up, and end the cluster
//	                    afterwards if it was not up before
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"github.com/storagebench/storagebench/test/cluster"
	"github.com/storagebench/storagebench/test/cluster/node"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == cluster.NodeCommand {
		fmt.Fprintln(os.Stderr, node.Run(os.Args[2]))
		os.Exit(1)
	}
	state := flag.String("state", cluster.DefaultState(), "the folder of the cluster's state, also "+cluster.StateVariable)
	flag.Usage = usage
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *state, flag.Args())
	stop()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		os.Exit(exit.ExitCode()) // the command has said why
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: cluster [--state FOLDER] up [--nodes N] | down | status | load-image ARCHIVE... | kubeconfig | "+
		"kubectl ARGUMENT... | burst up|truth|export|compare|down|list | enter [--node NAME] COMMAND... | run COMMAND...")
	flag.PrintDefaults()
}

func run(ctx context.Context, folder string, arguments []string) error {
	if len(arguments) == 0 {
		usage()
		return errors.New("a command is missing")
	}
	state, err := cluster.Open(folder)
	if err != nil {
		return err
	}
	verb, rest := arguments[0], arguments[1:]
	if len(rest) > 0 && rest[0] == "--" {
		rest = rest[1:]
	}
	if takesArguments := map[string]bool{"up": true, "load-image": true, "kubectl": true, "burst": true, "enter": true, "run": true}[verb]; !takesArguments && len(rest) > 0 {
		return fmt.Errorf("%s takes no arguments, not %q", verb, rest)
	}
	switch verb {
	case "up":
		return up(ctx, state, rest)
	case "down":
		return state.Down(ctx, os.Stderr)
	case "status":
		return status(ctx, os.Stdout, state)
	case "load-image":
		return loadImages(ctx, state, rest)
	case "kubeconfig":
		fmt.Println(state.Kubeconfig())
		return nil
	case "kubectl":
		return kubectl(ctx, state, rest)
	case "burst":
		return stores(ctx, os.Stdout, state, rest)
	case "enter":
		return enter(ctx, state, rest)
	case "run":
		return runWithCluster(ctx, state, rest)
	default:
		usage()
		return fmt.Errorf("there is no command %q", verb)
	}
}

func up(ctx context.Context, state cluster.State, arguments []string) error {
	flags := flag.NewFlagSet("up", flag.ContinueOnError)
	nodes := flags.Int("nodes", 0, "how many nodes it has then; 0 keeps those that it has, which is one at first")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("up takes no %q", flags.Args())
	}
	if err := state.Up(ctx, os.Stderr, *nodes); err != nil {
		return err
	}
	fmt.Println(state.Kubeconfig())
	return nil
}

func status(ctx context.Context, out io.Writer, state cluster.State) error {
	report, err := state.Status(ctx)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(out, describe(report)); err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	if !report.Ready {
		return errors.New(report.Reason)
	}
	return nil
}

func loadImages(ctx context.Context, state cluster.State, archives []string) error {
	if len(archives) == 0 {
		return errors.New("load-image needs the path of an archive")
	}
	for _, archive := range archives {
		names, err := state.LoadImage(ctx, os.Stderr, archive)
		if err != nil {
			return fmt.Errorf("loading %s: %w", archive, err)
		}
		fmt.Println(strings.Join(names, "\n"))
	}
	return nil
}
