package report

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/compare"
	"github.com/storagebench/storagebench/internal/measure"
)

// Repeats shows how much the figures of a specification vary between its runs.
type Repeats struct {
	SchemaVersion int                      `json:"schemaVersion"`
	Benchmark     string                   `json:"benchmark"`
	Hash          string                   `json:"hash"`
	Runs          []RepeatedRun            `json:"runs"`
	Figures       []compare.RepeatedFigure `json:"figures"`
}

// RepeatedRun is one of the runs that Repeats covers. Counted is true if the run is complete and valid; only then are
// its figures used.
type RepeatedRun struct {
	ComparedSide
	Counted bool `json:"counted"`
}

// NewRepeats computes the variance between runs of one specification, and lists the runs in the given order. It returns
// an error if their specifications or the contents of their profiles differ, if a run is given twice, if fewer than two
// runs are complete and valid, or if none of these has figures with all of its clients.
func NewRepeats(all []Document) (Repeats, error) {
	if len(all) == 0 {
		return Repeats{}, noVariance(0, 0)
	}
	made := Repeats{SchemaVersion: SchemaVersion, Benchmark: all[0].Benchmark, Hash: all[0].Spec.Hash}
	var counted [][]v1alpha1.PhaseResult
	seen := map[string]bool{}
	for i := range all {
		d := &all[i]
		if d.Spec.Hash != made.Hash {
			return Repeats{}, fmt.Errorf("%s and %s have different specifications: use `compare` without --repeats", all[0].Run, d.Run)
		}
		if differs := compare.WorkloadDifferences(&all[0].Spec.Run, &d.Spec.Run); len(differs) > 0 {
			return Repeats{}, fmt.Errorf("%s and %s have different workloads, because a profile was changed (%s: %s and %s): "+
				"use `compare` without --repeats",
				all[0].Run, d.Run, differs[0].Field, differs[0].Baseline, differs[0].Other)
		}
		id := side(&Compared{Document: *d}).ID
		if seen[id] {
			return Repeats{}, fmt.Errorf("%s is specified twice: specify different runs", d.Run)
		}
		seen[id] = true
		one := RepeatedRun{ComparedSide: ComparedSide{Name: d.Run, Benchmark: d.Benchmark, Run: d.Run, Hash: d.Spec.Hash, StartTime: d.StartTime, Verdict: Verdict(*d)}}
		if code := ExitCode(*d); code != ExitFailed && code != ExitInvalid {
			one.Counted = true
			counted = append(counted, d.Phases)
		}
		made.Runs = append(made.Runs, one)
	}
	if len(counted) < 2 {
		return Repeats{}, noVariance(len(all), len(counted))
	}
	if made.Figures = compare.Repeats(counted); len(made.Figures) == 0 {
		return Repeats{}, errors.New("cannot compute the variance: no run has figures with all of its clients")
	}
	return made, nil
}

func noVariance(runs, counted int) error {
	return fmt.Errorf("cannot compute the variance: at least two complete and valid runs are needed, got %d of %s", counted, measure.FormatCount(runs, "run"))
}

// RepeatsText writes the variance as text for a terminal.
func RepeatsText(w io.Writer, r Repeats) error {
	t := &terminal{}
	for _, s := range r.sections() {
		t.section(s)
	}
	return writeText(w, "the variance", printable(r.title())+"\n"+t.String())
}

// RepeatsMarkdown writes the variance as Markdown.
func RepeatsMarkdown(w io.Writer, r Repeats) error {
	m := &markdown{}
	m.line("### " + inMarkdown(r.title()))
	for _, s := range r.sections() {
		m.section(s)
	}
	return writeText(w, "the variance", m.String())
}

// RepeatsHTML writes the variance as one HTML page that opens offline.
func RepeatsHTML(w io.Writer, r Repeats) error {
	made := htmlPage{Title: printable(r.title()), Kind: "Variance", Footer: "Made by storagebench. MB is 10^6 bytes.", Sections: htmlSections(r.sections())}
	return made.write(w)
}

func (r *Repeats) title() string {
	return r.Benchmark + ": variance of " + measure.FormatCount(len(r.Runs), "run")
}

// sections returns the content of the report: the runs, and the variance of their figures.
func (r *Repeats) sections() []section {
	return []section{
		{ID: "runs", Title: "Runs", parts: partsOf(func(p *page) { p.repeatedRuns(r) })},
		{ID: "phases", Title: "Phases", parts: partsOf(func(p *page) { p.repeatedFigures(r) })},
	}
}

func (p *page) repeatedRuns(r *Repeats) {
	runs := [][]string{{"RUN", "STARTED", "VERDICT"}}
	for _, one := range r.Runs {
		started, verdict := absent, one.Verdict
		if one.StartTime != nil {
			started = one.StartTime.UTC().Format(time.DateTime)
		}
		if !one.Counted {
			verdict += ": not counted"
		}
		runs = append(runs, []string{printable(one.Run), started, verdict})
	}
	p.columns(leftLast(runs), 3)
}

func (p *page) repeatedFigures(r *Repeats) {
	figures := [][]string{{"PHASE", "FIGURE", "MEAN", "95 % ±", "DEVIATION", "CV", "LOWEST", "HIGHEST", "RUNS"}}
	targets := map[string]bool{}
	for i := range r.Figures {
		targets[r.Figures[i].Target] = true
	}
	for i := range r.Figures {
		figures = append(figures, repeatedRow(&r.Figures[i], len(targets) > 1))
	}
	p.columns(figures, 2)
	p.line("95 % ± is half the width of the 95 % confidence interval of the mean (Student's t), which assumes independent runs. DEVIATION is the standard deviation " +
		"between runs; CV is DEVIATION divided by MEAN. RUNS is the number of runs with the figure; results that lack clients are left out. For a percentile, MEAN is the mean of the runs' percentiles, " +
		"not the percentile of all operations.")
}

func repeatedRow(f *compare.RepeatedFigure, named bool) []string {
	phase := printable(f.Phase)
	if named {
		phase += "/" + printable(f.Target)
	}
	show := func(value float64) string { return figureValue(f.Figure, f.Operation, int64(math.Round(value))) }
	interval, deviation, share := absent, absent, absent
	if f.Upper != nil {
		interval = show(*f.Upper - f.Mean)
	}
	if f.StandardDeviation != nil {
		deviation = show(*f.StandardDeviation)
	}
	if f.CoefficientOfVariation != nil {
		share = measure.FormatShare(*f.CoefficientOfVariation)
	}
	name := figureText(&v1alpha1.FigureComparison{Figure: f.Figure, Operation: f.Operation})
	return []string{phase, name, show(f.Mean), interval, deviation, share, show(float64(f.Minimum)), show(float64(f.Maximum)), strconv.Itoa(len(f.Values))}
}
