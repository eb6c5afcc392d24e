//go:build linux

package cli

import (
	"github.com/spf13/cobra"

	"github.com/storagebench/storagebench/internal/agent"
)

// newAgent returns the hidden command that runs the agent of a local run. The agent is part of this program so that
// users install only one binary.
func newAgent(streams Streams) *cobra.Command {
	var files agent.Files
	command := &cobra.Command{
		Use:    "agent",
		Short:  "Serve as the agent of one client (started by `run --local`)",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			opened, err := files.Open(streams.Err)
			if err != nil {
				return err
			}
			return agent.Serve(opened)
		},
	}
	command.Flags().StringVar(&files.Config, "config", "", "file with the agent's configuration")
	command.Flags().StringVar(&files.Ready, "ready", "", "file to write the agent's address to")
	command.Flags().StringVar(&files.Lifeline, "lifeline", "", "pipe; the agent exits when the pipe is closed")
	return command
}

// calledAsAgent runs a subcommand of the agent if the first argument is the name of one; otherwise, called is false.
// Tools such as mpirun call the agent's subcommands, and in a local run this program is the agent. The subcommand
// receives the remaining arguments unchanged: this program does not parse them as its own flags.
func calledAsAgent(arguments []string, streams Streams) (code int, called bool) {
	return agent.Subcommand(arguments, streams.Out, streams.Err)
}
