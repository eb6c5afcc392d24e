//go:build linux

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/local"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/internal/series"
	"github.com/storagebench/storagebench/internal/version"
)

// runHere runs the benchmark on this machine. The process that the user started becomes the guard, which starts this
// program again as the runner. In the runner, runHere conducts the run.
func runHere(ctx context.Context, streams Streams, arguments []string, options runOptions) error {
	runner, journal, stop, inRunner := local.InRunner(ctx)
	defer stop()
	if inRunner {
		return runLocal(runner, streams, options, journal)
	}
	if slices.Contains(options.files, "-") {
		return errors.New("-f - is not supported here: give a file")
	}
	code, err := local.Guard(arguments, func(dead *v1alpha1.BenchmarkRun, over *series.Log, left error) int {
		if dead == nil {
			if dead = stillborn(streams, options.files); dead == nil {
				_, _ = fmt.Fprintln(streams.Err, "error: the process that conducts the run died before the run started")
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

// stillborn returns a record, made from the run's files, of a run that failed before it began; nil if the files cannot
// be read.
func stillborn(streams Streams, files []string) *v1alpha1.BenchmarkRun {
	read, err := load(Streams{In: streams.In, Out: streams.Out, Err: io.Discard}, files, loadOptions{})
	if err != nil {
		return nil
	}
	return local.NeverStarted(local.Options{Benchmark: read.benchmark, Run: read.resolved, Plan: read.plan})
}

// runLocal conducts the run. It is called in the runner.
func runLocal(ctx context.Context, streams Streams, options runOptions, journal *local.Journal) error {
	loaded, err := load(streams, options.files, loadOptions{seed: rand.Int64()}) //nolint:gosec // It orders cells and fills files; it need not be unpredictable.
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
	shown := follow(streams, &loaded.plan, "Ctrl-C stops the run, removes its data and shows the results so far")
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

// beginning returns the line with the benchmark, its number of clients and the directory of each target.
func beginning(read loaded, directories map[string][]string) string {
	var where []string
	for _, name := range slices.Sorted(maps.Keys(directories)) {
		where = append(where, name+" = "+strings.Join(directories[name], ", "))
	}
	return fmt.Sprintf("%s: %s per target, %s", read.benchmark.Name, measure.FormatCount(read.plan.ClientsPerTarget, "client"), strings.Join(where, ", "))
}
