package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Accepts returns nil if the program accepts a command line: its verb, flags and number of arguments. It runs
// nothing and reads no files, so it can check the command lines in documentation.
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
	return fixedValuesAreKnown(command)
}

// fixedValuesAreKnown rejects values that a flag with a fixed set of values does not allow.
func fixedValuesAreKnown(command *cobra.Command) error {
	var problem error
	command.Flags().Visit(func(flag *pflag.Flag) {
		// Only these flags list the values that they allow, see fixedValues.
		if !slices.Contains([]string{"output", "access-mode"}, flag.Name) {
			return
		}
		offer, offers := command.GetFlagCompletionFunc(flag.Name)
		if !offers || problem != nil {
			return
		}
		if values, _ := offer(command, nil, ""); !slices.Contains(values, flag.Value.String()) {
			problem = fmt.Errorf("--%s %q is unknown: use %s", flag.Name, flag.Value, alternatives(values))
		}
	})
	return problem
}
