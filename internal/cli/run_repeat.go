package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/report"
)

// mostRepeats is the maximum of --repeat.
const mostRepeats = 100

// repeatOutputs lists the formats in which the variance between runs can be printed.
var repeatOutputs = []string{"text", "json", "yaml", "markdown", "html"}

// checkRepeat returns an error if --repeat is out of range or cannot be combined with other flags.
func (o *runOptions) checkRepeat() error {
	switch {
	case o.repeat < 1 || o.repeat > mostRepeats:
		return fmt.Errorf("--repeat %d: must be 1 to %d", o.repeat, mostRepeats)
	case o.repeat > 1 && !o.watch:
		return fmt.Errorf("--repeat %d and --watch=false are mutually exclusive, because each run starts when the previous one has ended: remove one of them", o.repeat)
	case o.repeat > 1 && !slices.Contains(repeatOutputs, o.output):
		return fmt.Errorf("--output %s is not supported with --repeat: use %s", o.output, alternatives(repeatOutputs))
	}
	return nil
}

// fileOf returns the name of the file that --save NAME writes for a run. With --repeat, each run has its own file.
func (o *runOptions) fileOf(name string, number int) string {
	if o.repeat == 1 {
		return name
	}
	extension := filepath.Ext(name)
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, extension), number, extension)
}

// repetitions holds the results of runs of one specification.
type repetitions struct {
	documents []report.Document
	// code is the most severe exit code of the runs.
	code int
}

// add stores the result of a run and reports whether to start another run. With --repeat, it also saves the result to
// the numbered files of this run. If the run did not complete or its result could not be saved, no other run is
// started, because it would probably fail in the same way.
func (r *repetitions) add(streams Streams, options runOptions, document report.Document, code int) (more bool) {
	r.documents = append(r.documents, document)
	r.code = worse(r.code, code)
	if options.repeat == 1 {
		return false
	}
	number := len(r.documents)
	line := fmt.Sprintf("run %d of %d: %s: %s", number, options.repeat, document.Run, report.Verdict(document))
	if shown := document.Display; shown != nil && shown.Result != "" {
		line += fmt.Sprintf(", %s (%s)", shown.Result, shown.Figure)
	}
	_, _ = fmt.Fprintln(streams.Err, line)
	var numbered []string
	for _, name := range options.save {
		numbered = append(numbered, options.fileOf(name, number))
	}
	if err := save(streams, numbered, document); err != nil {
		r.fail(streams, err)
	}
	return number < options.repeat && r.code != report.ExitFailed
}

// has reports whether the result of a run was added.
func (r *repetitions) has(run *v1alpha1.BenchmarkRun) bool {
	return slices.ContainsFunc(r.documents, func(d report.Document) bool { return d.RunUID == string(run.UID) })
}

// collect calls next for each run and adds the result. It stops at the first error of next and returns it.
func (r *repetitions) collect(streams Streams, options runOptions, next func() (report.Document, int, error)) error {
	for more := true; more; {
		document, code, err := next()
		if err != nil {
			return err
		}
		more = r.add(streams, options, document, code)
	}
	return nil
}

// presentAfter shows the results that collect added. err is the error that collect returned, if any. presentAfter
// prints this error before the results or, if there are no results, returns it.
func (r *repetitions) presentAfter(streams Streams, options runOptions, err error) error {
	if err != nil {
		if len(r.documents) == 0 {
			return err
		}
		r.fail(streams, err)
	}
	return r.present(streams, options)
}

// fail prints an error that prevents further runs, and sets the exit code. The results so far are still shown.
func (r *repetitions) fail(streams Streams, err error) {
	_, _ = fmt.Fprintf(streams.Err, "error: %v\n", err)
	r.code = report.ExitFailed
}

// worse returns the more severe of two exit codes.
func worse(a, b int) int {
	order := []int{report.ExitMet, report.ExitMissed, report.ExitInvalid, report.ExitFailed}
	if slices.Index(order, a) > slices.Index(order, b) {
		return a
	}
	return b
}

// present shows the results, and returns the error with which the program exits.
func (r *repetitions) present(streams Streams, options runOptions) error {
	if err := r.show(streams, options); err != nil {
		return err
	}
	return exit(r.code)
}

// show shows the result of a single run, or the variance between several runs. If the variance cannot be computed, it
// shows the last run and the reason.
func (r *repetitions) show(streams Streams, options runOptions) error {
	if options.repeat == 1 {
		return present(streams, options, r.documents[0])
	}
	made, err := report.NewRepeats(r.documents)
	if err != nil {
		last := r.documents[len(r.documents)-1]
		if shown := write(streams.Out, options.output, last, reportOptions(streams, options.verbose)); shown != nil {
			return shown
		}
		_, _ = fmt.Fprintf(streams.Err, "%v\n", err)
		r.code = cmp.Or(r.code, report.ExitFailed)
		return nil
	}
	return writeRepeats(streams.Out, options.output, made)
}

func writeRepeats(w io.Writer, output string, made report.Repeats) error {
	switch output {
	case "markdown":
		return report.RepeatsMarkdown(w, made)
	case "html":
		return report.RepeatsHTML(w, made)
	}
	return printAs(w, output, made, func(w io.Writer) error { return report.RepeatsText(w, made) })
}

// followRuns follows a run of a benchmark to its end and shows its result. With options.repeat, it requests more runs,
// one after the other, and shows the variance between them. It also returns the name of the run that it followed last,
// or the name of the benchmark if an error occurred while waiting for the next run. If the user interrupts followRuns,
// it shows nothing; runs then holds the results of the runs that have ended.
func (c *cluster) followRuns(
	ctx context.Context, streams Streams, runs *repetitions, benchmark, run, hint string, options runOptions,
) (last string, err error) {
	err = runs.collect(streams, options, func() (document report.Document, code int, err error) {
		if len(runs.documents) > 0 {
			last = benchmark
			if run, err = c.nextRun(ctx, streams, benchmark); err != nil {
				return document, code, err
			}
		}
		last = run
		ended, err := c.followToEnd(ctx, streams, run, hint)
		if err != nil {
			return document, code, err
		}
		return c.result(ctx, streams, ended)
	})
	if interrupted(ctx, err) {
		return last, err
	}
	return last, runs.presentAfter(streams, options, err)
}

// nextRun requests another run of a benchmark, and returns its name once it exists. If a run is live, the new run
// starts only after the live one has ended.
func (c *cluster) nextRun(ctx context.Context, streams Streams, name string) (string, error) {
	before := &v1alpha1.StorageBenchmark{}
	if err := c.get(ctx, benchmarkResource, name, before); err != nil {
		return "", err
	}
	if before.Spec.Suspend != nil && *before.Spec.Suspend {
		return "", fmt.Errorf("StorageBenchmark %s is suspended: set spec.suspend to false", name)
	}
	known := map[string]bool{}
	if last := before.Status.LastRun; last != nil {
		known[last.UID] = true
	}
	if active := before.Status.ActiveRun; active != nil {
		known[active.UID] = true
	}
	if err := c.request(ctx, name); err != nil {
		return "", err
	}
	return c.awaitRun(ctx, streams, name, func(status *v1alpha1.StorageBenchmarkStatus) string {
		switch active := status.ActiveRun; {
		case status.LastHandledRequest == before.Status.LastHandledRequest:
			return "" // the request is still pending: the operator changes LastHandledRequest when it records the new run
		case active != nil && active.UID != "" && !known[active.UID]:
			return active.Name
		case active == nil && status.LastRun != nil && !known[status.LastRun.UID]:
			return status.LastRun.Name // the requested run has already ended
		}
		return ""
	})
}
