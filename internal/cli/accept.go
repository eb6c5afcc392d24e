package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Accepts reports whether the program takes a command line: nil when verb, flags and the number of arguments are right.
// Nothing is done and no file is read, so that texts that show command lines can be checked.
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
		return fmt.Errorf("%s needs one of its verbs", command.CommandPath())
	}
	if err := command.ValidateArgs(command.Flags().Args()); err != nil {
		return err
	}
	if err := command.ValidateRequiredFlags(); err != nil {
		return err
	}
	return fixedValuesAreKnown(command)
}

// fixedValuesAreKnown looks at the flags that offer what they take.
func fixedValuesAreKnown(command *cobra.Command) error {
	var problem error
	command.Flags().Visit(func(flag *pflag.Flag) {
		// The other flags would ask a cluster for what they offer.
		if !slices.Contains([]string{"output", "access-mode"}, flag.Name) {
			return
		}
		offer, offers := command.GetFlagCompletionFunc(flag.Name)
		if !offers || problem != nil {
			return
		}
		if values, _ := offer(command, nil, ""); !slices.Contains(values, flag.Value.String()) {
			problem = fmt.Errorf("--%s %q is not known: use %s", flag.Name, flag.Value, alternatives(values))
		}
	})
	return problem
}
