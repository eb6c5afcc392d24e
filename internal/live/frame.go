package live

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
)

// Minimum size of a frame. A smaller terminal shows only part of the frame.
const (
	minWidth  = 40
	minHeight = 8
)

// Frame draws the view in as many lines as the terminal has room for. Each line is one column narrower than the
// terminal, because some terminals wrap a line that fills the whole width.
func Frame(view View, options Options) []string {
	o := options
	o.Width, o.Height = max(o.Width, minWidth)-1, max(o.Height, minHeight)-1
	head, foot := view.head(), view.foot(o)
	now := view.now(o)
	room := o.Height - len(head) - len(foot) - len(now)
	warnings := view.warnings(min(4, max(2, room/3)))
	phases := view.phases(max(3, room-len(warnings)))
	var drawn []string
	for _, block := range [][]line{head, phases, now, warnings, foot} {
		for _, one := range block {
			if len(drawn) < o.Height {
				drawn = append(drawn, one.draw(o))
			}
		}
	}
	return drawn
}

func (v *View) head() []line {
	title := line{{Bold, v.Benchmark}}.with(Dim, "  "+v.Run+"  ")
	switch {
	case v.Failed:
		title = title.with(Bad, v.Stage)
	case v.Ended:
		title = title.with(Good, v.Stage)
	default:
		title = title.with(Accent, v.Stage)
	}
	clock := text(v.clock())
	if !v.Started {
		clock = text(v.Message)
		if v.Message == "" {
			clock = text("not started")
		}
	}
	return []line{title, clock, nil}
}

// clock formats the elapsed time of the run. It adds the remaining or total time or, if the run has failed or ended,
// the verdict.
func (v *View) clock() string {
	text := Short(v.Elapsed)
	switch {
	case v.Ended:
		if v.Verdict != "" {
			return "took " + text + "; " + v.Verdict
		}
		return "took " + text
	case v.Failed:
		return text + "; ends: " + v.Verdict
	case v.Remaining == 0 && v.AtLeast, len(v.Phases) == 0:
		return text
	case v.AtLeast:
		return fmt.Sprintf("%s, at least %s to go", text, Short(v.Remaining))
	}
	return fmt.Sprintf("%s of about %s, ends about %s", text, Short(v.Elapsed+v.Remaining), v.End.Format(time.TimeOnly[:5]))
}

// phases lists the phases of the run. If not all of them fit, it lists as many as possible around the current one.
func (v *View) phases(room int) []line {
	first, last := 0, len(v.Phases)
	if room--; last > room { // reserve one line for the blank line after the phases
		present := 0
		for i := range v.Phases {
			if v.Phases[i].State != Coming {
				present = i
			}
		}
		room = max(1, room-2) // reserve two lines that state how many phases are hidden above and below
		first = max(0, min(present-room/2, last-room))
		last = first + room
	}
	name, does := 0, 0
	for _, phase := range v.Phases[first:last] {
		name, does = max(name, len(phase.Name)), max(does, len(phase.Does))
	}
	var lines []line
	if first > 0 {
		lines = append(lines, styled(Dim, fmt.Sprintf("    %s before", measure.FormatCount(first, "phase"))))
	}
	for i := range v.Phases[first:last] {
		lines = append(lines, v.Phases[first+i].line(min(name, 24), does))
	}
	if rest := len(v.Phases) - last; rest > 0 {
		lines = append(lines, styled(Dim, fmt.Sprintf("    %s to come", measure.FormatCount(rest, "more phase"))))
	}
	return append(lines, nil)
}

func (p *Phase) line(name, does int) line {
	words := fmt.Sprintf("%-*s  %-*s  ", name, p.Name, does, p.Does)
	switch p.State {
	case Done:
		return styled(Good, "  ✓ ").with(Plain, words+fmt.Sprintf("%-8s %s", Short(p.Took), strings.Join(p.Figures, ", ")))
	case Failed:
		return styled(Bad, "  ✗ ").with(Plain, words+Short(p.Took)+"  ").with(Bad, p.Message)
	case Running:
		steps := ""
		if p.Steps > 1 {
			steps = fmt.Sprintf(", step %d of %d", min(p.StepsDone+1, p.Steps), p.Steps)
		}
		return styled(Accent, "  ▶ ").with(Bold, words+Short(p.Took)+p.of()+steps)
	case Coming:
	}
	steps := ""
	if p.Steps > 1 {
		steps = fmt.Sprintf(", %s", measure.FormatCount(p.Steps, "step"))
	}
	return styled(Dim, "  · "+words+p.takes()+steps)
}

// of formats the phase's expected duration as a suffix for its elapsed time, such as " of 2m05s". It returns "" if only
// a lower bound is known.
func (p *Phase) of() string {
	switch {
	case p.AtLeast:
		return ""
	case p.AtMost:
		return " of about " + Short(p.Expected)
	}
	return " of " + Short(p.Expected)
}

func (p *Phase) takes() string {
	switch {
	case p.AtLeast && p.Expected == 0:
		return "until complete"
	case p.AtLeast:
		return "at least " + Short(p.Expected)
	case p.AtMost:
		return "about " + Short(p.Expected)
	}
	return Short(p.Expected)
}

// now draws lines about the running step or, between steps, the message of the run.
func (v *View) now(o Options) []line {
	step := v.Now
	if step == nil {
		if v.Ended || !v.Started {
			return nil
		}
		return []line{text("  " + v.Message), nil}
	}
	whole := ""
	if step.Whole > 0 {
		whole = " of " + Short(step.Whole)
		if step.AtMost {
			whole = " of at most " + Short(step.Whole)
		}
	}
	lines := []line{styled(Bold, "  "+step.Label).with(Plain, "  "+Short(step.Elapsed)+whole)}
	if step.Share >= 0 {
		left := ""
		if step.Remaining > 0 {
			left = ", " + Short(step.Remaining) + " to go"
		}
		lines[0] = lines[0].with(Plain, "  ").with(Accent, bar(step.Share, 16, '█', '░')).with(Plain, fmt.Sprintf(" %3.0f %%%s", step.Share*100, left))
		if o.Plain {
			lines[0][len(lines[0])-2].text = "[" + bar(step.Share, 16, '#', '-') + "]"
		}
	}
	if !step.Idle {
		lines = append(lines, step.rates(o)...)
	}
	return append(append(lines, step.credits(o)...), nil)
}

// rates shows throughput, IOPS, latency and the number of clients that are generating load.
func (s *Step) rates(o Options) []line {
	signs := bars
	if o.Plain {
		signs = plainBars
	}
	clients := text("    clients     " + fmt.Sprintf("%d of %d load", s.Clients, s.Of))
	if s.Figures == nil || len(s.Figures.Points) < 2 {
		return []line{styled(Dim, "    no sample yet"), clients}
	}
	bytes, operations := totalRates(s.Figures)
	var split, latency []string
	for _, one := range s.Figures.Operations {
		name := strings.ToLower(string(one.Operation))
		if one.Operation.MovesData() {
			split = append(split, name+" "+rate(one.BytesPerSecond))
		}
		if one.MeanNanoseconds != nil {
			latency = append(latency, name+" "+measure.FormatLatency(uint64(*one.MeanNanoseconds))+" mean") //nolint:gosec // A latency is not negative.
		}
	}
	mixed := ""
	if len(split) > 1 {
		mixed = "  (" + strings.Join(split, ", ") + ")"
	}
	const before = 30 // the width, in columns, of the text before the sparkline
	parts := max(10, min(40, o.Width-before-utf8.RuneCountInString(mixed)))
	row := func(name, value string, total func(v1alpha1.LivePoint) int64, more string) line {
		drawn := spark(ratesOf(s.Figures.Points, total, parts), signs)
		return text(fmt.Sprintf("    %-10s  ", name)).with(Bold, fmt.Sprintf("%-12s", value)).with(Accent, "  "+drawn).with(Dim, more)
	}
	lines := []line{
		row("throughput", measure.FormatBytesPerSecond(float64(bytes)), func(p v1alpha1.LivePoint) int64 { return p.Bytes }, mixed),
		row("IOPS", strings.TrimSuffix(measure.FormatOperationsPerSecond(float64(operations)), " IOPS"), func(p v1alpha1.LivePoint) int64 { return p.Operations }, ""),
	}
	if len(latency) > 0 {
		lines = append(lines, text("    latency     "+strings.Join(latency, ", ")))
	} else {
		lines = append(lines, text("    latency     ").with(Dim, "not known yet"))
	}
	return append(lines, clients)
}

// credits shows the estimated fill level of each target's credit bucket. It omits targets without an estimate.
func (s *Step) credits(o Options) []line {
	if s.Figures == nil {
		return nil
	}
	full, empty := '█', '░'
	if o.Plain {
		full, empty = '#', '-'
	}
	var lines []line
	for _, target := range s.Figures.Targets {
		if target.CreditPercent == nil {
			continue
		}
		percent := *target.CreditPercent
		style := Good
		if percent < 20 {
			style = Warn
		}
		lines = append(lines, text("    credits     ").with(style, bar(float64(percent)/100, 20, full, empty)).
			with(Plain, fmt.Sprintf(" about %d %% left on %s", percent, target.Target)))
	}
	return lines
}

func (v *View) warnings(room int) []line {
	if len(v.Warnings) == 0 {
		return nil
	}
	var lines []line
	for i, warning := range v.Warnings {
		if i+1 == room-1 && len(v.Warnings) > i+1 {
			lines = append(lines, styled(Warn, fmt.Sprintf("  ! and %s", measure.FormatCount(len(v.Warnings)-i, "more warning"))))
			break
		}
		style := Warn
		if warning.Disqualifying {
			style = Bad
		}
		where := ""
		if warning.Where != "" {
			where = warning.Where + ": "
		}
		lines = append(lines, styled(style, "  ! "+warning.Type).with(Plain, "  "+where+warning.Message))
	}
	return append(lines, nil)
}

func (v *View) foot(o Options) []line {
	if v.Ended || o.Hint == "" {
		return nil
	}
	return []line{styled(Dim, o.Hint)}
}

// Short formats a duration for display, with at most two units: 9s, 2m05s, 3h12m.
func Short(length time.Duration) string {
	length = length.Round(time.Second)
	seconds := int64(length / time.Second)
	switch {
	case length < time.Minute:
		return fmt.Sprintf("%ds", seconds)
	case length < time.Hour:
		return fmt.Sprintf("%dm%02ds", seconds/60, seconds%60)
	case length < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", seconds/3600, seconds/60%60)
	}
	return fmt.Sprintf("%dd%02dh", seconds/86400, seconds/3600%24)
}
