package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/storagebench/storagebench/test/binaries"
	"github.com/storagebench/storagebench/test/cluster"
)

func kubectl(ctx context.Context, state cluster.State, arguments []string) error {
	programs, err := binaries.Build(ctx, os.Stderr, binaries.Kubectl)
	if err != nil {
		return err
	}
	// The node is on this machine, so the proxy that this machine uses for the web must not be used.
	return attached(ctx, append([]string{programs[binaries.Kubectl], "--kubeconfig=" + state.Kubeconfig()}, arguments...),
		"NO_PROXY=*", "no_proxy=*")
}

func enter(ctx context.Context, state cluster.State, arguments []string) error {
	flags := flag.NewFlagSet("enter", flag.ContinueOnError)
	name := flags.String("node", cluster.NodeName, "the node")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if arguments = flags.Args(); len(arguments) == 0 {
		arguments = []string{"sh"}
	}
	members, err := state.Members()
	if err != nil {
		return err
	}
	index := slices.IndexFunc(members, func(m cluster.Member) bool { return m.Name() == *name })
	if index < 0 {
		return fmt.Errorf("there is no node %q", *name)
	}
	command, err := members[index].Enter(ctx, arguments...)
	if err != nil {
		return err
	}
	return attach(command)
}

// runWithCluster runs a program with the cluster up, and ends the cluster afterwards if it was not up before.
func runWithCluster(ctx context.Context, state cluster.State, arguments []string) (err error) {
	if len(arguments) == 0 {
		return errors.New("run needs a command")
	}
	before, err := state.Status(ctx)
	if err != nil {
		return err
	}
	if !before.Running {
		// WithoutCancel lets Down run after an interrupt, too.
		defer func() { err = errors.Join(err, state.Down(context.WithoutCancel(ctx), os.Stderr)) }()
	}
	if err := state.Up(ctx, os.Stderr, 0); err != nil {
		return err
	}
	return attached(ctx, arguments, "KUBECONFIG="+state.Kubeconfig(), cluster.StateVariable+"="+state.Folder())
}

// attached runs a program on this terminal.
func attached(ctx context.Context, arguments []string, environment ...string) error {
	command := exec.CommandContext(ctx, arguments[0], arguments[1:]...)
	command.Env = append(os.Environ(), environment...)
	return attach(command)
}

func attach(command *exec.Cmd) error {
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	// Interrupt the program first: it may have to clean up.
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = time.Minute
	if err := command.Run(); err != nil {
		return fmt.Errorf("running %s: %w", command.Args[0], err)
	}
	return nil
}

// describe formats a report for people.
func describe(report cluster.Report) string {
	if !report.Running {
		return ""
	}
	var text strings.Builder
	state := "ready"
	if !report.Ready {
		state = report.Reason
	}
	fmt.Fprintf(&text, "nodes       %s, %s, Kubernetes %s, up for %s\n", strings.Join(report.Nodes, " "), state,
		binaries.KubernetesVersion, time.Since(report.StartedAt).Round(time.Second))
	fmt.Fprintf(&text, "kubeconfig  %s\n\n", report.Kubeconfig)
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "node\tcomponent\tready\tpid\trestarts\tlog")
	for _, c := range report.Components {
		restarts := strconv.Itoa(c.Restarts)
		if c.LastExit != "" {
			restarts += " (" + c.LastExit + ")"
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%t\t%d\t%s\t%s\n", c.Node, c.Name, c.Ready, c.PID, restarts, c.LogFile)
	}
	_ = table.Flush() // into memory
	return text.String()
}
