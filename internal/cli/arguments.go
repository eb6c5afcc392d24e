package cli

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"
)

// anyNumber is the maximum of numberOfArguments for a verb without one.
const anyNumber = -1

// numberOfArguments checks the number of arguments of a verb. Its errors show how the verb is called.
func numberOfArguments(least, most int) cobra.PositionalArgs {
	return func(command *cobra.Command, arguments []string) error {
		switch {
		case len(arguments) < least:
			return fmt.Errorf("too few arguments: write %s", command.UseLine())
		case most != anyNumber && len(arguments) > most:
			return fmt.Errorf("unexpected argument %q: write %s", arguments[most], command.UseLine())
		}
		return nil
	}
}

// inFile adds the name of a file to an error about its content. An error of the file system already names the file.
func inFile(name string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}
