package cli

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"
)

// anyNumber is passed to numberOfArguments instead of a maximum, to allow any number of arguments.
const anyNumber = -1

// numberOfArguments returns a function that checks the number of arguments of a command. Its errors show the usage line
// of the command.
func numberOfArguments(least, most int) cobra.PositionalArgs {
	return func(command *cobra.Command, arguments []string) error {
		switch {
		case len(arguments) < least:
			return fmt.Errorf("too few arguments; usage: %s", command.UseLine())
		case most != anyNumber && len(arguments) > most:
			return fmt.Errorf("unexpected argument %q; usage: %s", arguments[most], command.UseLine())
		}
		return nil
	}
}

// inFile adds the name of a file to an error about its content. It returns file system errors unchanged, because they
// already contain the name.
func inFile(name string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}
