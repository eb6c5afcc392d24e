package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/chart"
	"github.com/storagebench/storagebench/internal/measure"
)

// TextOptions controls how much of a run Text writes, and describes what the terminal can show.
type TextOptions struct {
	// Verbose adds the details that the short form leaves out.
	Verbose bool
	// Columns is the width of the terminal; below minChartColumns there is no chart.
	Columns int
	// ASCII restricts the chart to ASCII.
	ASCII bool
	// Details tells the reader how to show the details that the short form leaves out. The default is "-v shows them".
	Details string
}

// The minimum and maximum width, in columns, and the height, in rows, of the text chart of throughput over time.
const (
	minChartColumns = 60
	maxChartColumns = width
	chartRows       = 5
)

// Text writes a run for a terminal: first the verdict and the reasons not to use the figures, then the figures, then
// other remarks. It is laid out for 100 columns; tables with long names can be wider.
func Text(w io.Writer, d Document, o TextOptions) error {
	t := &terminal{}
	t.WriteString(printable(d.Benchmark+"  "+strings.Join(checks(d), ", ")) + "\n")
	for _, text := range lead(d) {
		t.line("  ", text)
	}
	hidden := false
	for _, s := range sectionsOf(d) {
		if !o.Verbose {
			hidden = hidden || s.hasDetails()
			s = s.short()
		}
		if s.ID == overTimeID && o.Columns >= minChartColumns {
			t.chart(d, o)
		}
		t.section(s)
	}
	if hidden {
		t.WriteString("\n")
		t.line("  ", hiddenText(d)+cmp.Or(o.Details, "-v shows them"))
	}
	return writeText(w, "the report", t.String())
}

func writeText(w io.Writer, what, text string) error {
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	return nil
}

// chart draws the throughput of each target over time, summed over its operations.
func (t *terminal) chart(d Document, o TextOptions) {
	lines := totals(d)
	if len(lines) == 0 {
		return
	}
	top, _ := height(lines)
	bands := phaseBands(d)
	figure := chart.Figure{Bands: bands, Lines: lines, X: timeAxis(bands, lines),
		Y: chart.Linear(top, chartRows-1, round(measure.FormatBytesPerSecond))}
	t.WriteString("\n")
	t.line("  ", throughputTitle)
	for _, line := range figure.TextRows(min(o.Columns, maxChartColumns)-3, chartRows, o.ASCII) {
		t.WriteString(strings.TrimRight("  "+line, " ") + "\n")
	}
}

// hiddenText states that the short form hides details, and how many notes (types of warnings with severity Info) it
// hides.
func hiddenText(d Document) string {
	if notes := len(remarksOf(d, v1alpha1.SeverityInfo)); notes > 0 {
		return measure.FormatCount(notes, "note") + " and details hidden; "
	}
	return "details hidden; "
}

// lead returns the name and the time of the run, preceded by the reason for its failure if it failed.
func lead(d Document) []string {
	var texts []string
	if failed := failure(d); failed != nil {
		texts = append(texts, failed.Reason+": "+failed.Message)
	}
	text := "run " + d.Run
	if d.StartTime != nil {
		text += ", " + d.StartTime.UTC().Format("2006-01-02 15:04:05 UTC")
		if d.EndTime != nil {
			text += ", took " + d.EndTime.Sub(d.StartTime.Time).Round(100*time.Millisecond).String()
		}
	}
	return append(texts, text)
}

// checks summarizes whether the run can be trusted, in a few words per check.
func checks(d Document) []string {
	words := []string{Verdict(d)}
	if warnings := len(remarksOf(d, v1alpha1.SeverityWarning)); warnings > 0 {
		return append(words, measure.FormatCount(warnings, "warning"))
	}
	if len(d.Phases) > 0 && len(remarksOf(d, v1alpha1.SeverityDisqualifying)) == 0 {
		return append(words, "no warnings")
	}
	return words
}

// failure returns the Failed condition of a run that did not complete, or nil.
func failure(d Document) *metav1.Condition {
	if failed := meta.FindStatusCondition(d.Conditions, v1alpha1.ConditionFailed); failed != nil && failed.Status == metav1.ConditionTrue {
		return failed
	}
	return nil
}

// Verdict states whether the run completed, failed or was cancelled, whether it is valid, and whether it missed
// objectives.
func Verdict(d Document) string {
	var words []string
	switch failed := failure(d); {
	case failed != nil && v1alpha1.IsCancellation(failed.Reason):
		words = append(words, "Cancelled")
	case failed != nil:
		words = append(words, "FAILED")
	case meta.IsStatusConditionTrue(d.Conditions, v1alpha1.ConditionComplete):
		words = append(words, "complete")
	default:
		words = append(words, "not finished: "+cmp.Or(d.Stage, "unknown"))
	}
	if valid := meta.FindStatusCondition(d.Conditions, v1alpha1.ConditionValid); valid != nil {
		switch valid.Status {
		case metav1.ConditionTrue:
			words = append(words, "valid")
		case metav1.ConditionFalse:
			words = append(words, "NOT VALID")
		case metav1.ConditionUnknown:
			words = append(words, "no result")
		}
	}
	if objectives := meta.FindStatusCondition(d.Conditions, v1alpha1.ConditionObjectivesMet); objectives != nil && objectives.Status != metav1.ConditionTrue {
		words = append(words, map[bool]string{true: "OBJECTIVES MISSED", false: "OBJECTIVES NOT JUDGED"}[objectives.Status == metav1.ConditionFalse])
	}
	return strings.Join(words, ", ")
}
