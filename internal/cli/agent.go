package cli

import (
	"github.com/spf13/cobra"

	"github.com/storagebench/storagebench/internal/agent"
)

// newAgent is the agent of a local run: this same program, so that one file is enough.
func newAgent(streams Streams) *cobra.Command {
	var files agent.Files
	command := &cobra.Command{
		Use:    "agent",
		Short:  "Be the agent of one client (started by `run --local`)",
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
	command.Flags().StringVar(&files.Lifeline, "lifeline", "", "file whose end tells the agent to leave")
	return command
}
