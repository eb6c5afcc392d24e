package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Accepts checks the command, the flags and the number of arguments of a command line, and returns an error if one of
// them is invalid. It runs nothing and reads no files, so it can check the command lines in documentation.
func Accepts(arguments []string) error {
	root := newRoot(Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}, arguments)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(arguments...)
	command, rest, err := root.Find(arguments)
	if err != nil {
		return err
	}
	command.InitDefaultHelpFlag()
	command.InitDefaultVersionFlag()
	if err := command.ParseFlags(rest); err != nil {
		return err
	}
	for _, shows := range []string{"help", "version"} {
		if flag := command.Flags().Lookup(shows); flag != nil && flag.Changed {
			return nil
		}
	}
	if !command.Runnable() {
		return fmt.Errorf("%s needs a subcommand", command.CommandPath())
	}
	if err := command.ValidateArgs(command.Flags().Args()); err != nil {
		return err
	}
	if err := command.ValidateRequiredFlags(); err != nil {
		return err
	}
	return knownValues(command, "output", "access-mode")
}

// knownValues returns an error if the value of one of the flags is not among the values that shell completion offers
// for the flag.
func knownValues(command *cobra.Command, flags ...string) error {
	for _, name := range flags {
		offer, offers := command.GetFlagCompletionFunc(name)
		if !offers {
			continue
		}
		value := command.Flags().Lookup(name).Value.String()
		if values, _ := offer(command, nil, ""); !slices.Contains(values, value) {
			return fmt.Errorf("--%s %q is unknown: use %s", name, value, alternatives(values))
		}
	}
	return nil
}
