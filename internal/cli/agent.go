package cli

import (
	"io"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/storagebench/storagebench/internal/agent"
)

// newAgent is the agent of a local run: this same program, so that one file is enough.
func newAgent(streams Streams) *cobra.Command {
	var config, ready, lifeline string
	command := &cobra.Command{
		Use:    "agent",
		Short:  "Be the agent of one client (started by `run --local`)",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return serveAgent(config, ready, lifeline, streams.Err)
		},
	}
	command.Flags().StringVar(&config, "config", "", "file with the agent's configuration")
	command.Flags().StringVar(&ready, "ready", "", "file to write the agent's address to")
	command.Flags().StringVar(&lifeline, "lifeline", "", "file whose end tells the agent to leave")
	return command
}

func serveAgent(config, ready, lifeline string, said io.Writer) error {
	file, err := os.Open(config) //nolint:gosec // The file is given by whoever starts the agent.
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	p := agent.Process{Said: said}
	if p.Config, err = agent.ReadConfig(file); err != nil {
		return err
	}
	if ready != "" {
		opened, err := os.OpenFile(ready, os.O_WRONLY, 0) //nolint:gosec // As above.
		if err != nil {
			return err
		}
		p.Ready = opened
	}
	if lifeline != "" {
		opened, err := os.Open(lifeline) //nolint:gosec // As above.
		if err != nil {
			return err
		}
		p.Lifeline = opened
	}
	// The descriptors that we were started with must not reach the tool: opening them by name made
	// copies that do not.
	for _, inherited := range []int{3, 4, 5} {
		_ = syscall.Close(inherited)
	}
	return agent.Serve(p)
}
