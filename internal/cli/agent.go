//go:build linux

package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/storagebench/storagebench/internal/agent"
	"github.com/storagebench/storagebench/internal/filegen"
)

// newAgent returns the verb that runs the agent of a local run in this same program, so that users need only one file.
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
	command.Flags().StringVar(&files.Lifeline, "lifeline", "", "file at whose end the agent exits")
	return command
}

// calledAsAgent runs the commands of the agent's program, which in a local run is this one. mpirun calls launch to
// start a daemon on another client, and each MPI rank starts as rank. The agent calls tend to run a user's program, and
// that program may call files to generate its data. The arguments after the command are not flags of this program.
func calledAsAgent(arguments []string, streams Streams) (code int, called bool) {
	if len(arguments) == 0 {
		return 0, false
	}
	switch arguments[0] {
	case "rank":
		_, _ = fmt.Fprintf(streams.Err, "error: %s\n", agent.Rank(arguments[1:])) // it returns only if it failed
		return 1, true
	case "launch":
		return agent.LaunchCommand(arguments[1:], streams.Out, streams.Err), true
	case "tend":
		return agent.Tend(arguments[1:]), true
	case "files":
		return filegen.Command(arguments[1:], streams.Out, streams.Err), true
	}
	return 0, false
}
