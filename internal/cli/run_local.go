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
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/drive"
	"github.com/storagebench/storagebench/internal/local"
	"github.com/storagebench/storagebench/internal/observation"
	"github.com/storagebench/storagebench/internal/prometheus"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/internal/series"
	"github.com/storagebench/storagebench/internal/version"
)

// runHere runs the benchmark on this machine. The process that the user started becomes the guard: it starts this
// program again as the runner, and reports if the runner dies. In the runner process, runHere conducts the run.
func runHere(ctx context.Context, streams Streams, arguments []string, options runOptions) error {
	// Catch SIGPIPE, so that the results are saved even if the reader of standard output or standard error exits.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	runner, journal, stop, inRunner := local.InRunner(ctx, stopSignals())
	defer stop()
	if inRunner {
		return runLocal(runner, streams, options, journal)
	}
	if slices.Contains(options.files, "-") {
		return errors.New("-f - is not supported with --local: use a file")
	}
	code, err := local.Guard(arguments, stopSignals(), func(runs []local.Result, left error) int {
		if len(runs) == 0 {
			dead := stillborn(streams, options.files)
			if dead == nil {
				_, _ = fmt.Fprintln(streams.Err, "error: the process that conducts the run died before the run started")
				return report.ExitFailed
			}
			runs = []local.Result{{Run: dead}}
		}
		if left != nil {
			_, _ = fmt.Fprintf(streams.Err, "error: %v\n", left)
		}
		if err := showDead(streams, options, runs); err != nil {
			_, _ = fmt.Fprintf(streams.Err, "error: %v\n", err)
		}
		return report.ExitFailed
	})
	if err != nil {
		return err
	}
	return exit(code)
}

// showDead shows the runs of a runner that died during or after its last run. The runner has already saved the earlier
// runs.
func showDead(streams Streams, options runOptions, runs []local.Result) error {
	var shown repetitions
	for i := range runs {
		document := report.NewDocument(runs[i].Run, version.Version).With(&runs[i].Series)
		if i < len(runs)-1 {
			shown.documents = append(shown.documents, document)
		} else {
			shown.add(streams, options, document, report.ExitFailed)
		}
	}
	return shown.show(streams, options)
}

// stillborn returns the record of a run that failed before it began. It creates the record from the files of the
// benchmark. It returns nil if the files cannot be read.
func stillborn(streams Streams, files []string) *v1alpha1.BenchmarkRun {
	read, err := load(Streams{In: streams.In, Out: streams.Out, Err: io.Discard}, files, loadOptions{local: true})
	if err != nil {
		return nil
	}
	return local.NeverStarted(local.Options{Benchmark: read.benchmark, Run: read.resolved, Plan: read.plan})
}

// runLocal conducts one or more consecutive runs. It is called in the runner process; see runHere.
func runLocal(ctx context.Context, streams Streams, options runOptions, journal *local.Journal) error {
	var runs repetitions
	return runs.conduct(streams, options, journal, func() (report.Document, error) {
		return runOnce(ctx, streams, options, len(runs.documents) == 0, journal)
	})
}

// conduct calls next for each run and then shows the results. If a run cannot be conducted, conduct shows the results
// of the earlier runs. It then records in the journal that the results are shown, so that the guard process does not
// show them again; see runHere. It does so even if showing them failed, because the guard would fail in the same way.
func (r *repetitions) conduct(streams Streams, options runOptions, journal *local.Journal, next func() (report.Document, error)) error {
	err := r.collect(streams, options, func() (report.Document, int, error) {
		document, err := next()
		return document, report.ExitCode(document), err
	})
	if len(r.documents) == 0 {
		return err
	}
	err = r.presentAfter(streams, options, err)
	journal.Write(local.Entry{Printed: true})
	return err
}

// runOnce reads the files of the benchmark, conducts one run and returns its document. Before the first run, it also
// shows the estimate and the directories of each target.
func runOnce(ctx context.Context, streams Streams, options runOptions, first bool, journal *local.Journal) (report.Document, error) {
	read, err := load(streams, options.files, loadOptions{seed: rand.Int64(), local: true}) //nolint:gosec // It orders cells and fills files; it need not be unpredictable.
	if err != nil {
		return report.Document{}, err
	}
	directories, err := targetDirectories(read.resolved, options.targets)
	if err != nil {
		return report.Document{}, err
	}
	if first {
		announce(streams, read, options.price, options.repeat)
		if err := checkObservations(ctx, streams, options, read.resolved); err != nil {
			return report.Document{}, err
		}
		for _, name := range slices.Sorted(maps.Keys(directories)) {
			_, _ = fmt.Fprintf(streams.Err, "  target %s = %s\n", name, strings.Join(directories[name], ", "))
		}
	}
	return conductLocally(ctx, streams, options, read, directories, journal)
}

// conductLocally conducts one run and returns its document.
func conductLocally(ctx context.Context, streams Streams, options runOptions, read loaded, directories map[string][]string, journal *local.Journal) (report.Document, error) {
	program, err := os.Executable()
	if err != nil {
		return report.Document{}, fmt.Errorf("find this program: %w", err)
	}
	shown := follow(streams, &read.plan, "Ctrl-C stops the run, removes its data and shows the results so far")
	over := &series.Log{}
	finished, err := local.Run(ctx, local.Options{
		Benchmark:    read.benchmark,
		Run:          read.resolved,
		Plan:         read.plan,
		Seed:         read.seed,
		Directories:  directories,
		AgentCommand: []string{program, "agent"},
		FioPath:      options.fio,
		Journal:      journal,
		Series:       over,
		Observer:     observerOf(options, read),
		Observe:      func(seen local.Progress) { shown.see(seen.Run.DeepCopy()) },
	})
	shown.end()
	if err != nil {
		return report.Document{}, err
	}
	return report.NewDocument(finished, version.Version).With(over), nil
}

// checkObservations returns an error if Prometheus rejects a query, so that the user sees the error before the run. It
// warns if the observations cannot be evaluated for another reason.
func checkObservations(ctx context.Context, streams Streams, options runOptions, run *v1alpha1.RunSpec) error {
	if len(run.Observations) == 0 {
		return nil
	}
	if options.prometheus.URL == "" {
		_, _ = fmt.Fprintln(streams.Err, "  warning: the observations are not evaluated: set --prometheus URL")
		return nil
	}
	client, err := prometheus.New(options.prometheus, "")
	if err != nil {
		return err
	}
	for _, q := range observation.Checks(run, time.Now()) {
		name := run.Observations[q.Observation].Name
		switch answer := client.Ask(ctx, q); {
		case answer.Refused:
			return fmt.Errorf("spec.run.observations[%d] (%s): %s", q.Observation, name, answer.Problem)
		case answer.Problem != "":
			_, _ = fmt.Fprintf(streams.Err, "  warning: observation %s: %s\n", name, answer.Problem)
			return nil
		}
	}
	return nil
}

// observerOf returns the observer of a run. It returns nil if the run has no observations, or if no Prometheus is
// configured.
func observerOf(options runOptions, read loaded) drive.Observer {
	if options.prometheus.URL == "" || len(read.resolved.Observations) == 0 {
		return nil
	}
	return prometheus.NewObserver(options.prometheus, "")
}
