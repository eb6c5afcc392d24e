package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/internal/version"
)

// Streams holds the input and the outputs of a command.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// screen is Err without the filter for control characters: the live view needs these characters to move the cursor
	// of a terminal. printed is Out without the filter.
	screen, printed io.Writer
}

// exitError ends the program with an exit code and without a further message.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// exit returns an error that ends the program with code, or nil if code is 0.
func exit(code int) error {
	if code == 0 {
		return nil
	}
	return exitError(code)
}

// Main runs the program and returns its exit code.
func Main(arguments []string, streams Streams) int {
	if code, called := calledAsAgent(arguments, streams); called {
		return code
	}
	out, messages := newPlainWriter(streams.Out), newPlainWriter(streams.Err)
	defer out.close()
	defer messages.close()
	streams.Out, streams.Err, streams.screen, streams.printed = out, messages, streams.Err, streams.Out
	root := newRoot(streams, arguments)
	root.SetArgs(arguments)
	err := root.Execute()
	var code exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	}
	_, _ = fmt.Fprintf(streams.Err, "error: %v\n", err)
	return report.ExitFailed
}

func newRoot(streams Streams, arguments []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "kubectl-storagebench",
		Short: "Measure storage, and report whether the figures can be trusted",
		Long: "kubectl storagebench measures storage with fio, IOR and mdtest, in a cluster or on this machine,\n" +
			"and reports what affects each figure.",
		Version:       version.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(command *cobra.Command, _ []string) error {
			return knownValues(command, "output")
		},
	}
	// Users run the plugin as a subcommand of kubectl, so help texts call it "kubectl storagebench".
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl storagebench"}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.AddCommand(
		newRun(streams, arguments),
		newInit(streams),
		newPlan(streams),
		newWatch(streams),
		newRerun(streams),
		newCancel(streams),
		newList(streams),
		newReport(streams),
		newCompare(streams),
		newMerge(streams),
		newParse(streams),
		newAnalyze(streams),
		newConvert(streams),
		newProfiles(streams),
		newVersion(streams),
		newAgent(streams),
	)
	return root
}

// openInput opens a file, or standard input for "-".
func openInput(streams Streams, name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(streams.In), nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	return file, nil
}
