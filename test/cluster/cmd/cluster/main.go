// Command cluster starts and stops a real Kubernetes cluster, of one node or several, on this machine.
//
// Usage: go run ./test/cluster/cmd/cluster [--state FOLDER] COMMAND
//
//	up [--nodes N]      start the cluster unless it is up. With --nodes, add nodes or
//	                    remove the last ones until there are N; without, keep the
//	                    existing nodes. Dead nodes are restarted, except for the
//	                    first: if it has died, a new cluster is started
//	down                end the cluster and remove everything that it created
//	status              print what is running; the exit code is 0 if pods can run
//	load-image ARCHIVE  load the images of an archive on all nodes
//	kubeconfig          print the path of its kubeconfig
//	kubectl ARGUMENT... run kubectl on it
//	burst up SCENARIO|FILE [--name NAME] [--namespace NAMESPACE]
//	                    mount a store of test/burstfs in the first node, and print the
//	                    volume and the claim for kubectl apply
//	burst truth|down [--name NAME]
//	                    print the store's record as CSV, or end the store
//	burst export [--name NAME]
//	                    serve the store's credits for Prometheus, and print the
//	                    address
//	burst compare [--name NAME] < RUN.json
//	                    print the figures of a BenchmarkRun beside the store's record
//	burst list          print the names of the stores
//	enter [--node NAME] COMMAND...
//	                    run a program in the namespaces of a node (default: the first)
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
	// Debian's su keeps the PATH of the user, which lacks the folders of root's programs, such as runc and nft.
	if err := os.Setenv("PATH", os.Getenv("PATH")+":/usr/local/sbin:/usr/sbin:/sbin"); err != nil {
		fmt.Fprintln(os.Stderr, err)
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
		os.Exit(exit.ExitCode()) // the command has printed its error
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
