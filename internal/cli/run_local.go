//go:build linux

package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/local"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/internal/series"
	"github.com/storagebench/storagebench/internal/version"
)

// runHere runs on this machine: as the guard that the user has started, or as the runner that a guard has.
func runHere(ctx context.Context, streams Streams, arguments []string, options runOptions) error {
	runner, journal, stop, inRunner := local.InRunner(ctx)
	defer stop()
	if inRunner {
		return runLocal(runner, streams, options, journal)
	}
	if options.file == "-" {
		return errors.New("-f - cannot be used here: give a file")
	}
	code, err := local.Guard(arguments, func(dead *v1alpha1.BenchmarkRun, over *series.Log, left error) int {
		if dead == nil {
			if dead = stillborn(streams, options.file); dead == nil {
				_, _ = fmt.Fprintln(streams.Err, "error: the process that conducted the run died before it began")
				return report.ExitFailed
			}
		}
		if left != nil {
			_, _ = fmt.Fprintf(streams.Err, "error: %v\n", left)
		}
		if err := present(streams, options, report.NewDocument(dead, version.Version).With(over)); err != nil {
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
	read, err := load(streams, file, 0)
	if err != nil {
		return nil
	}
	return local.Stillborn(local.Options{Benchmark: read.benchmark, Run: read.resolved, Plan: read.plan})
}

// runLocal is the runner's side.
func runLocal(ctx context.Context, streams Streams, options runOptions, journal *local.Journal) error {
	loaded, err := load(streams, options.file, rand.Int64()) //nolint:gosec // It orders cells and fills files; nobody must not guess it.
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
	_, _ = fmt.Fprintln(streams.Err, beginning(loaded, directories))
	shown := follow(streams.Err, &loaded.plan, "Ctrl-C stops the run, removes its data and shows the results so far")
	over := &series.Log{}
	finished, err := local.Run(ctx, local.Options{
		Benchmark:    loaded.benchmark,
		Run:          loaded.resolved,
		Plan:         loaded.plan,
		Seed:         loaded.seed,
		Directories:  directories,
		AgentCommand: []string{program, "agent"},
		FioPath:      options.fio,
		Journal:      journal,
		Series:       over,
		Observe:      func(seen local.Progress) { shown.see(seen.Run.DeepCopy()) },
	})
	shown.end()
	if err != nil {
		return err
	}
	document := report.NewDocument(finished, version.Version).With(over)
	if err := present(streams, options, document); err != nil {
		return err
	}
	journal.Write(local.Entry{Printed: true})
	return exit(report.ExitCode(document))
}

// beginning says what is loaded, and from how many clients.
func beginning(read loaded, directories map[string][]string) string {
	var where []string
	for _, name := range slices.Sorted(maps.Keys(directories)) {
		where = append(where, name+" = "+strings.Join(directories[name], ", "))
	}
	return fmt.Sprintf("%s: %s a target, %s", read.benchmark.Name, many(read.plan.ClientsPerTarget, "client"), strings.Join(where, ", "))
}
