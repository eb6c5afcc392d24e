package cli

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/phasekind"
	"github.com/storagebench/storagebench/internal/plan"
)

type textOptions struct {
	// jobs adds the job file or command line of each step to the text. If all is true, each step of a long phase has
	// its own line; otherwise such a phase is collapsed to a single line.
	jobs, all bool
}

// longPhase is the minimum number of steps for which a phase is collapsed to one line.
const longPhase = 12

func (d planDocument) text(w io.Writer, options textOptions) error {
	var b strings.Builder
	b.WriteString(d.headline() + "\n\n")
	lines := [][]string{{"STEP", "DOES", "TARGETS", "STARTS", "TAKES", creditsColumn, "NEW SPACE"}}
	sure := true
	for steps := range d.phases() {
		rows := len(steps)
		if rows >= longPhase && !options.all {
			lines = append(lines, collapsed(steps, sure))
			rows = 0
		}
		for i, step := range steps {
			if i < rows {
				lines = append(lines, row(step, sure))
			}
			sure = sure && step.ExpectedSeconds != nil
		}
	}
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, line := range withoutCredits(lines) {
		_, _ = fmt.Fprintln(table, "  "+strings.Join(line, "\t"))
	}
	_ = table.Flush()
	b.WriteString("\n")
	for steps := range d.phases() {
		if text := axes(steps); text != "" {
			fmt.Fprintf(&b, "  %s: %s, in random order, here with seed %d; each run has its own seed\n", steps[0].Phase, text, d.Seed)
		}
	}
	for i := range d.Run.Phases {
		if goal := phasekind.Of(d.Run.Phases[i].Kind()).Goal; goal != nil {
			fmt.Fprintf(&b, "  %s: %s\n", d.Run.Phases[i].Name, goal(&d.Run.Phases[i]))
		}
	}
	for _, line := range loadTexts(&d) {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	for _, target := range d.Targets {
		fmt.Fprintf(&b, "  target %s needs %s of free space\n", target.Name, measure.FormatBytes(target.NewBytes))
	}
	fmt.Fprintf(&b, "  %s\n", writtenText(d.Written))
	if d.Cost != nil {
		fmt.Fprintf(&b, "  %s\n", d.Cost.text())
	}
	if d.Starts != "" {
		fmt.Fprintf(&b, "  %s\n", d.Starts)
	}
	for _, one := range d.Objectives {
		fmt.Fprintf(&b, "  objective %s\n", one)
	}
	for _, one := range observationTexts(d.Run) {
		fmt.Fprintf(&b, "  observation %s\n", one)
	}
	for _, line := range promiseTexts(&d) {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	for _, warning := range d.Warnings {
		fmt.Fprintf(&b, "  warning: %s\n", warning)
	}
	if options.jobs {
		d.jobs(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// creditsColumn is the heading of the credits column. The table has this column only if the burst credits of a target
// are known.
const creditsColumn = "CREDITS"

// withoutCredits removes the credits column from the table if no step has credits.
func withoutCredits(lines [][]string) [][]string {
	at := slices.Index(lines[0], creditsColumn)
	if slices.ContainsFunc(lines[1:], func(line []string) bool { return line[at] != noCredits }) {
		return lines
	}
	for i := range lines {
		lines[i] = slices.Delete(lines[i], at, at+1)
	}
	return lines
}

// jobs writes the job file or command line of each step and target.
func (d planDocument) jobs(w io.Writer) {
	for _, step := range d.Steps {
		for _, target := range step.Targets {
			if job := step.Jobs[target]; job != "" {
				who := "client 0"
				if step.planned.Load(target).SpansClients {
					who = fmt.Sprintf("%s of %s each", measure.FormatCount(step.Clients, "client"), measure.FormatCount(step.Processes, "rank"))
				}
				_, _ = fmt.Fprintf(w, "\n# step %s, target %s, %s\n%s", step.ID, target, who, job)
			}
		}
	}
}

// headline returns one line with the benchmark's name, the numbers of clients and steps, and the expected or minimum
// duration.
func (d planDocument) headline() string { return strings.Join(d.summary(), "; ") }

// summary returns the phrases of the headline. If the expected duration is unknown, the second phrase names the phases
// that make it unknown.
func (d planDocument) summary() []string {
	head := d.Benchmark + ": " + measure.FormatCount(d.ClientsPerTarget, "client") + " per target, " + measure.FormatCount(len(d.Steps), "step") + ", "
	if d.ExpectedSeconds != nil {
		return []string{head + "about " + about(*d.ExpectedSeconds)}
	}
	var unknown []string
	for _, step := range d.Steps {
		if step.ExpectedSeconds == nil && !slices.Contains(unknown, step.Phase) {
			unknown = append(unknown, step.Phase)
		}
	}
	return []string{head + "at least " + about(d.DurationSeconds), unknownLengths(unknown)}
}

// unknownLengths names the phases whose durations are unknown.
func unknownLengths(phases []string) string {
	if len(phases) < 2 {
		return "the length of " + joined(phases, "and") + " is unknown"
	}
	return "the lengths of " + joined(phases, "and") + " are unknown"
}

// phases yields the steps of each phase.
func (d planDocument) phases() func(func([]planStep) bool) {
	return func(yield func([]planStep) bool) {
		for first := 0; first < len(d.Steps); {
			last := first
			for last < len(d.Steps) && d.Steps[last].planned.PhaseIndex == d.Steps[first].planned.PhaseIndex {
				last++
			}
			if !yield(d.Steps[first:last]) {
				return
			}
			first = last
		}
	}
}

// row returns the table row of one step. sure is false if the duration of an earlier step is unknown. The row then
// shows the earliest possible start time.
func row(step planStep, sure bool) []string {
	return []string{step.ID, does(step), strings.Join(step.Targets, ","),
		starts(step.OffsetSeconds, sure), takes(step), creditsOf([]planStep{step}), laid(step.NewBytes)}
}

// does describes what a step does, with the values that its cell sets.
func does(step planStep) string {
	p := step.planned
	switch p.Purpose {
	case plan.Prepare:
		if step.runsCommand() {
			return "run the setup"
		}
		return "lay out"
	case plan.Precondition:
		return "overwrite " + times(p.Passes)
	case plan.Idle:
		return "idle"
	case plan.Drain:
		if p.Redrain {
			return "drain again"
		}
		return "drain"
	case plan.Measure:
	}
	if p.Overrides.Operation != "" {
		return p.Overrides.String() + " files"
	}
	if p.Cell < 0 && step.runsCommand() {
		return "run the command"
	}
	if p.Cell < 0 {
		return "measure"
	}
	words := p.Overrides.String()
	if words == "" || step.clientsVary {
		words = strings.TrimSuffix(measure.FormatCount(p.Clients, "client")+", "+words, ", ")
	}
	if p.Repeat {
		words += ", again"
	}
	return words
}

// runsCommand reports whether the step runs a user-supplied program on every target.
func (s planStep) runsCommand() bool {
	for _, target := range s.Targets {
		if !s.planned.Load(target).Opaque {
			return false
		}
	}
	return len(s.Targets) > 0
}

// takes describes the duration of a step.
func takes(step planStep) string {
	p := step.planned
	known := ""
	switch {
	case p.Longer:
		known = ", " + about(p.Expected.Seconds()) + " or longer"
	case p.Expected > 0:
		known = ", about " + about(p.Expected.Seconds())
	}
	switch {
	case p.WorkBound() && p.Purpose == plan.Measure:
		return "until done, at most " + about(p.Limit.Seconds())
	case p.WorkBound():
		return "until done" + known
	case p.Purpose == plan.Drain:
		return "until drained, at most " + about(p.Duration.Seconds()) + known
	case p.Purpose == plan.Idle && p.UntilCreditsPercent > 0:
		wait := fmt.Sprintf("until %d %% of the credits, ", p.UntilCreditsPercent)
		if p.Duration > 0 {
			return wait + about(p.Duration.Seconds())
		}
		return wait + "at most " + about(p.Limit.Seconds())
	case p.EndWhenSteady:
		return warmed(p) + "until steady, at most " + about(p.Duration.Seconds())
	}
	return warmed(p) + about(p.Duration.Seconds())
}

func warmed(p plan.Step) string {
	if p.WarmUp == 0 {
		return ""
	}
	return about(p.WarmUp.Seconds()) + " warm-up + "
}

// collapsed returns a single table row for a phase with many steps.
func collapsed(steps []planStep, sure bool) []string {
	var cells, repeats, pauses, drains int
	var idled, total float64
	var bytes uint64
	var targets []string
	each, same := "", true
	for _, step := range steps {
		bytes += step.NewBytes
		total += max(step.planned.Expected, step.planned.Least()).Seconds()
		for _, target := range step.Targets {
			if !slices.Contains(targets, target) {
				targets = append(targets, target)
			}
		}
		switch p := step.planned; {
		case p.Purpose == plan.Idle:
			pauses++
			idled += p.Duration.Seconds()
		case p.Purpose == plan.Drain:
			drains++
		default:
			if p.Repeat {
				repeats++
			} else {
				cells++
			}
			same = same && (each == "" || each == takes(step))
			each = takes(step)
		}
	}
	first, last := steps[0], steps[len(steps)-1]
	does := "measure " + measure.FormatCount(cells, "cell")
	switch kind := phasekind.Of(first.planned.Kind); {
	case kind.PicksRates:
		does = "search in at most " + measure.FormatCount(cells, "step")
	case kind.Interleaved:
		does = "measure " + measure.FormatCount(cells, "block")
	}
	if repeats > 0 {
		does += fmt.Sprintf(" and repeat one of them %s", times(repeats))
	}
	if drains > 0 {
		does = "drain, then " + does
	}
	length := about(total)
	if same {
		length += ", each " + each
	}
	if pauses > 0 {
		length += fmt.Sprintf(", %s of %s in all", measure.FormatCount(pauses, "pause"), about(idled))
	}
	return []string{first.ID + " to " + number(last.ID), does, strings.Join(targets, ","),
		starts(first.OffsetSeconds, sure), length, creditsOf(steps), laid(bytes)}
}

// number returns the first two elements of a step's ID, which are the indexes of its phase and of the step.
func number(id string) string {
	parts := strings.SplitN(id, "-", 3)
	return strings.Join(parts[:min(2, len(parts))], "-")
}

// axes returns the values that the cells of a sweep combine, or "" for other phases.
func axes(steps []planStep) string {
	if steps[0].planned.Kind != v1alpha1.PhaseSweep {
		return ""
	}
	var order []string
	values := map[string][]string{}
	clients := map[int]bool{}
	cells := slices.Clone(steps)
	// List values in the order of the specification, not of execution.
	slices.SortStableFunc(cells, func(a, b planStep) int { return a.planned.Cell - b.planned.Cell })
	add := func(axis, value string) {
		if !slices.Contains(order, axis) {
			order = append(order, axis)
		}
		if !slices.Contains(values[axis], value) {
			values[axis] = append(values[axis], value)
		}
	}
	for _, step := range cells {
		if step.Cell == nil {
			continue
		}
		clients[step.Clients] = true
		add("clients", fmt.Sprint(step.Clients))
		for _, one := range strings.Split(step.planned.Overrides.String(), ", ") {
			axis, value, _ := strings.Cut(one, " ")
			if axis != "" {
				add(axis, value)
			}
		}
	}
	var texts []string
	for _, axis := range order {
		if axis == "clients" && len(clients) == 1 {
			continue
		}
		texts = append(texts, axis+" "+strings.Join(values[axis], ", "))
	}
	return strings.Join(texts, " x ")
}

// creditsOf returns the expected fill level of each target's credit bucket, from the start
// of the first step to the end of the last.
func creditsOf(steps []planStep) string {
	start, end := map[string]float64{}, map[string]float64{}
	targets := map[string]bool{}
	for _, step := range steps {
		for _, target := range step.Targets {
			targets[target] = true
		}
		for target, credits := range step.planned.Credits {
			if _, begun := start[target]; !begun {
				start[target] = credits.StartPercent
			}
			end[target] = credits.EndPercent
		}
	}
	var texts []string
	for _, target := range slices.Sorted(maps.Keys(start)) {
		text := fmt.Sprintf("%.0f -> %.0f %%", start[target], end[target])
		if len(targets) > 1 {
			text = target + " " + text
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		return noCredits
	}
	return strings.Join(texts, ", ")
}

const noCredits = "-"

func laid(bytes uint64) string {
	if bytes == 0 {
		return "-"
	}
	return measure.FormatBytes(bytes)
}

// starts formats the start time of a step, as a lower bound if sure is false.
func starts(seconds float64, sure bool) string {
	if sure {
		return about(seconds)
	}
	return "> " + about(seconds)
}

// about formats a duration, rounded to the second if it is at least 10 s.
func about(seconds float64) string {
	length := time.Duration(seconds * float64(time.Second))
	if length >= 10*time.Second {
		length = length.Round(time.Second)
	}
	return string(v1alpha1.DurationOf(length))
}

func times(count int) string {
	switch count {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", count)
}

func oneDigit(value float64) float64 { return math.Round(value*10) / 10 }
