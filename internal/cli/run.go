package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/local"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/internal/version"
)

type runOptions struct {
	file    string
	local   bool
	targets []string
	output  string
	fio     string
}

func newRun(streams Streams, arguments []string) *cobra.Command {
	var options runOptions
	command := &cobra.Command{
		Use:   "run -f FILE --local --target NAME=DIR",
		Short: "Run a benchmark on this machine",
		Long: "Run a StorageBenchmark against directories of this machine, with agents as child processes:\n" +
			"no cluster, no root. Only files below DIR/.storagebench are written, and they are removed at\n" +
			"the end unless the target's dataPolicy is Retain. Ctrl-C stops it, with the results so far.\n\n" +
			"Exit codes: 0 complete, valid and all objectives met; 1 it could not run to its end;\n" +
			"2 an objective missed; 3 the result is not valid.",
		Example: "  kubectl storagebench run --local -f config/samples/quickstart.yaml --target data=/mnt/data\n" +
			"  kubectl storagebench run --local -f bench.yaml --target data=/mnt/data -o json > result.json",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return run(command.Context(), streams, arguments, options)
		},
	}
	command.Flags().StringVarP(&options.file, "filename", "f", "", "YAML file with a StorageBenchmark, and the profiles that it refers to; - for standard input")
	command.Flags().BoolVar(&options.local, "local", false, "run on this machine, without a cluster")
	command.Flags().StringArrayVar(&options.targets, "target", nil, "NAME=DIR: the directory to load for a target (once for each)")
	command.Flags().StringVar(&options.fio, "fio", "", "the fio to run (default: the one of PATH)")
	outputFlag(command, &options.output)
	return command
}

func run(ctx context.Context, streams Streams, arguments []string, options runOptions) error {
	if !options.local {
		return errors.New("say where: add --local and --target NAME=DIR to run on this machine; in a cluster, kubectl apply -f FILE")
	}
	if options.output != "text" && options.output != "json" {
		return badOutput(options.output)
	}
	runner, journal, stop, inRunner := local.InRunner(ctx)
	defer stop()
	if inRunner {
		return runLocal(runner, streams, options, journal)
	}
	if options.file == "-" {
		return errors.New("-f - cannot be used here: give a file")
	}
	code, err := local.Guard(arguments, func(dead *v1alpha1.BenchmarkRun, left error) int {
		if dead == nil {
			if dead = stillborn(streams, options.file); dead == nil {
				_, _ = fmt.Fprintln(streams.Err, "error: the process that conducted the run died before it began")
				return report.ExitFailed
			}
		}
		if left != nil {
			_, _ = fmt.Fprintf(streams.Err, "error: %v\n", left)
		}
		if err := show(streams, options.output, report.NewDocument(dead, version.Version)); err != nil {
			_, _ = fmt.Fprintf(streams.Err, "error: %v\n", err)
		}
		return report.ExitFailed
	})
	if err != nil {
		return err
	}
	return exit(code)
}

// stillborn is the record of a run that never began, of what its file says; nil where that cannot be
// read.
func stillborn(streams Streams, file string) *v1alpha1.BenchmarkRun {
	read, err := load(streams, file)
	if err != nil {
		return nil
	}
	return local.Stillborn(local.Options{Benchmark: read.benchmark, Run: read.resolved, Plan: read.plan})
}

// runLocal is the runner's side.
func runLocal(ctx context.Context, streams Streams, options runOptions, journal *local.Journal) error {
	loaded, err := load(streams, options.file)
	if err != nil {
		return err
	}
	directories, err := targetDirectories(loaded.resolved, options.targets)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	shown := newProgress(streams.Err, loaded)
	shown.begin(directories)
	finished, err := local.Run(ctx, local.Options{
		Benchmark:    loaded.benchmark,
		Run:          loaded.resolved,
		Plan:         loaded.plan,
		Directories:  directories,
		AgentCommand: []string{program, "agent"},
		FioPath:      options.fio,
		Journal:      journal,
		Observe:      shown.observe,
	})
	shown.end()
	if err != nil {
		return err
	}
	document := report.NewDocument(finished, version.Version)
	if err := show(streams, options.output, document); err != nil {
		return err
	}
	journal.Write(local.Entry{Printed: true})
	return exit(report.ExitCode(document))
}

// targetDirectories reads --target flags: exactly one for each target of the benchmark. The
// directory stands for the volume, so the target's path is inside of it.
func targetDirectories(run *v1alpha1.RunSpec, flags []string) (map[string]string, error) {
	wanted := map[string]bool{}
	for _, target := range run.Targets {
		wanted[target.Name] = true
	}
	names := strings.Join(slices.Sorted(maps.Keys(wanted)), ", ")
	given := map[string]string{}
	for _, flag := range flags {
		name, directory, found := strings.Cut(flag, "=")
		switch {
		case !found || name == "" || directory == "":
			return nil, fmt.Errorf("--target %q: write NAME=DIR", flag)
		case !wanted[name]:
			return nil, fmt.Errorf("--target %q: the benchmark has no target %q; it has: %s", flag, name, names)
		case given[name] != "":
			return nil, fmt.Errorf("--target %q: target %q was given already", flag, name)
		}
		absolute, err := filepath.Abs(directory)
		if err != nil {
			return nil, fmt.Errorf("--target %q: %w", flag, err)
		}
		given[name] = absolute
	}
	for _, target := range run.Targets {
		if given[target.Name] == "" {
			return nil, fmt.Errorf("target %q has no directory: add --target %s=DIR", target.Name, target.Name)
		}
		if target.Path != "" && !filepath.IsLocal(target.Path) {
			return nil, fmt.Errorf("target %q: path %q leads out of the directory: write a folder inside of it", target.Name, target.Path)
		}
		given[target.Name] = filepath.Join(given[target.Name], target.Path)
	}
	return given, nil
}
