package report_test

import (
	"bytes"
	"flag"
	"html"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/compare"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/test/golden"
)

var pages = flag.String("pages", "", "a folder to write a page of every document to, for looking at")

// written compares the output of write with a file in testdata.
func written(t *testing.T, name string, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	golden.File(t, filepath.Join("testdata", name), b.String())
	return b.String()
}

func TestMarkdown(t *testing.T) {
	for _, name := range []string{"good", "not-valid", "burst", "pair-sweep", "two-targets", "failed-at-once", "hostile"} {
		written(t, name+".golden.md", func(w io.Writer) error { return report.Markdown(w, all()[name].document(t)) })
	}
}

// bareLink matches text without markup that GitHub Flavored Markdown, GitHub or GitLab turns into a link.
var bareLink = regexp.MustCompile(`(?i)[a-z][a-z0-9+.-]*://\S|\bwww\.\w|[\w.+-]+@[\w-]|@\w|#\d`)

// TestMarkdownIsOnlyText checks that text from users and tools cannot format or mention anything, and cannot end its
// element.
func TestMarkdownIsOnlyText(t *testing.T) {
	d := documents["good"].document(t)
	const words = "<img src=x> @team #12 | a `b` **c** [d](https://example.org) </details> ~e~ " +
		"ftp://f.example www.example.org WWW.example.net mailto:g@example.org"
	d.Benchmark = words
	d.Phases[0].Targets[0].Warnings = append(d.Phases[0].Targets[0].Warnings, v1alpha1.Warning{Type: "ToolMessages", Severity: v1alpha1.SeverityWarning, Message: words})
	var b bytes.Buffer
	if err := report.Markdown(&b, d); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{" <img", "@team", " #12", " | a", " `b`", " **c**", "[d]("} {
		if at := strings.Index(b.String(), bad); at >= 0 {
			t.Errorf("%q is in: %s", bad, b.String()[max(0, at-20):at+40])
		}
	}
	var page bytes.Buffer
	if err := goldmark.New(goldmark.WithExtensions(extension.GFM)).Convert(b.Bytes(), &page); err != nil {
		t.Fatal(err)
	}
	if _, link, found := strings.Cut(page.String(), "<a "); found {
		t.Errorf("a renderer makes a link: <a %.80s", link)
	}
	// Some renderers look for bare addresses and references in the source, others in the rendered text.
	rendered := html.UnescapeString(b.String())
	if found := bareLink.FindString(rendered); found != "" {
		t.Errorf("%q becomes a link", found)
	}
	for _, kept := range []string{"https:", "ftp:", "www", "WWW", "example.net", "mailto:g@", "team"} {
		if !strings.Contains(rendered, kept) {
			t.Errorf("%q is lost: %s", kept, rendered)
		}
	}
	if strings.Count(b.String(), "<details>") != strings.Count(b.String(), "\n</details>") {
		t.Error("a fold is not closed where it should be")
	}
}

// TestMarkdownOfAFoldedName checks that a name in the title of a fold, where backslashes do not escape, is only text.
func TestMarkdownOfAFoldedName(t *testing.T) {
	var b bytes.Buffer
	if err := report.Markdown(&b, twoSmallFiles(t, "<img src=x> @team a_b")); err != nil {
		t.Fatal(err)
	}
	const want = "<summary>How &lt;img src=x&gt; @&#8203;team a_b compares with share in full</summary>"
	if _, fold, _ := strings.Cut(b.String(), "<details><summary>How "); !strings.Contains(b.String(), want) {
		t.Errorf("the fold is: %.100s", fold)
	}
}

// TestMarkdownOfUnprintable checks that characters that replace unprintable ones neither shift nor hide what must be
// escaped.
func TestMarkdownOfUnprintable(t *testing.T) {
	d := documents["good"].document(t)
	for _, words := range []string{"\x01:", "\x01\x02\x03 see https://example.org", "\xff://\x01"} {
		d.Benchmark = words
		var b bytes.Buffer
		if err := report.Markdown(&b, d); err != nil {
			t.Fatal(err)
		}
		if heading, _, _ := strings.Cut(b.String(), "\n"); strings.Contains(heading, "://") {
			t.Errorf("%q is a link: %s", words, heading)
		}
	}
}

// TestSweepWithoutFigures checks that cells without figures are not marked, and that a matrix without figures is
// omitted.
func TestSweepWithoutFigures(t *testing.T) {
	d := sweepPaper().document(t)
	empty := func(steps []v1alpha1.StepResult) string {
		for i := range steps {
			steps[i].Operations, steps[i].Warnings = nil, []v1alpha1.WarningType{v1alpha1.WarningClientLost}
		}
		var b bytes.Buffer
		if err := report.Text(&b, d, report.TextOptions{Verbose: true}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	of := &d.Phases[len(d.Phases)-1].Targets[0]
	if text := empty(of.Steps[:1]); strings.Contains(text, "-!") || !strings.Contains(text, " \\ ") {
		t.Errorf("one cell has no figure:\n%s", text)
	}
	if text := empty(of.Steps); strings.Contains(text, " \\ ") {
		t.Errorf("no cell has a figure:\n%s", text)
	}
}

func TestJSON(t *testing.T) {
	d := documents["two-targets"].document(t)
	if d.Series.Empty() {
		t.Error("there are no series")
	}
	d.Series = nil // its compression may differ with another version of Go
	written(t, "two-targets.golden.json", func(w io.Writer) error { return report.JSON(w, d) })
}

func TestCSV(t *testing.T) {
	d := documents["two-targets"].document(t)
	for _, table := range []report.CSVTable{report.CSVSeries, report.CSVLatency, report.CSVDistribution, report.CSVClients} {
		text := written(t, "two-targets."+string(table)+".golden.csv", func(w io.Writer) error { return report.CSV(w, d, table) })
		if strings.Count(text, "\n") < 3 {
			t.Errorf("%s has no rows", table)
		}
	}
	if err := report.CSV(io.Discard, d, "everything"); err == nil || !strings.Contains(err.Error(), "everything") {
		t.Errorf("a table that is not known: %v", err)
	}
	d.Series = nil
	if err := report.CSV(io.Discard, d, report.CSVSeries); err == nil {
		t.Error("nothing that was measured over time was written out")
	}
	d = documents["good"].document(t)
	d.Spec.Steps[0].Phase = "=1+2"
	var b bytes.Buffer
	if err := report.CSV(&b, d, report.CSVSeries); err != nil || !strings.Contains(b.String(), "\n'=1+2,") {
		t.Errorf("a name is a formula: %v", err)
	}
}

// TestPages renders every document as a page. -pages keeps the pages for visual inspection.
func TestPages(t *testing.T) {
	for name, test := range all() {
		var b bytes.Buffer
		if err := report.HTML(&b, test.document(t)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if strings.Contains(b.String(), "ZgotmplZ") {
			t.Errorf("%s: the template refused something", name)
		}
		if *pages != "" {
			if err := os.WriteFile(filepath.Join(*pages, name+".html"), b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// again returns the document under the name of another run of the same benchmark.
func again(d report.Document, name string) report.Document {
	d.Run, d.RunUID = name, name
	return d
}

func compared(d report.Document) report.Compared { return report.Compared{Name: d.Run, Document: d} }

func TestCompare(t *testing.T) {
	slower := again(documents["good"].document(t), "usual-slower")
	for i := range slower.Phases {
		for j := range slower.Phases[i].Targets {
			for k := range slower.Phases[i].Targets[j].Operations {
				of := &slower.Phases[i].Targets[j].Operations[k]
				*of.BytesPerSecond, *of.IOPSMilli = *of.BytesPerSecond*8/10, *of.IOPSMilli*8/10
			}
		}
	}
	slower.Spec.Hash = "def"
	slower.Spec.Run.Clients.Count = 3
	pair := all()["pair-sweep"].document(t)
	first, second := pair.Spec.Run.Targets[0].Name, pair.Spec.Run.Targets[1].Name
	for name, sides := range map[string][]report.Compared{
		"compare-same":    {compared(documents["good"].document(t)), compared(again(documents["good"].document(t), "usual-again"))},
		"compare-slower":  {compared(documents["good"].document(t)), compared(slower), compared(again(documents["good"].document(t), "usual-again"))},
		"compare-invalid": {compared(documents["good"].document(t)), compared(again(documents["not-valid"].document(t), "usual-invalid"))},
		"compare-targets": {{Name: first, Target: first, Document: pair}, {Name: second, Target: second, Document: pair}},
	} {
		made, err := report.Compare(sides, 5)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		written(t, name+".golden.txt", func(w io.Writer) error { return report.CompareText(w, made, sides) })
		written(t, name+".golden.md", func(w io.Writer) error { return report.CompareMarkdown(w, made, sides) })
		written(t, name+".golden.json", func(w io.Writer) error { return report.CompareJSON(w, made) })
		var b bytes.Buffer
		if err := report.CompareHTML(&b, made, sides); err != nil || !strings.Contains(b.String(), "<table") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestEquivalent checks that figures within the margin are equivalent, and that figures a fifth lower are not.
func TestEquivalent(t *testing.T) {
	good := documents["good"].document(t)
	for share, want := range map[int64]compare.Equivalence{100: compare.Equivalent, 99: compare.Equivalent, 80: compare.NotEquivalent} {
		other := again(documents["good"].document(t), "other")
		for i := range other.Phases {
			for j := range other.Phases[i].Targets {
				for k := range other.Phases[i].Targets[j].Operations {
					of := &other.Phases[i].Targets[j].Operations[k]
					*of.BytesPerSecond = *of.BytesPerSecond * share / 100
				}
			}
		}
		made, err := report.Compare([]report.Compared{compared(good), compared(other)}, 5)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, phase := range made.Comparisons[0].Phases {
			for _, figure := range phase.Figures {
				if figure.Figure == v1alpha1.FigureThroughput {
					found = true
					if figure.Equivalence != want {
						t.Errorf("%d %%: %s of %s is %s, want %s", share, figure.Figure, phase.Phase, figure.Equivalence, want)
					}
				}
			}
		}
		if answer := made.Comparisons[0].Equivalent; !found || answer == nil || *answer != (want == compare.Equivalent) {
			t.Errorf("%d %%: %v", share, answer)
		}
	}
}

// TestEquivalentInEveryCell checks that two sweeps are equivalent only if all their cells can be compared.
func TestEquivalentInEveryCell(t *testing.T) {
	good := all()["sweep"].document(t)
	for _, valid := range []bool{true, false} {
		other := again(all()["sweep"].document(t), "other")
		for phase, target := range v1alpha1.TargetResults(other.Phases) {
			if !valid && phase.Kind == v1alpha1.PhaseSweep {
				target.Steps[0].Warnings = append(target.Steps[0].Warnings, v1alpha1.WarningDirectIONotHonoured)
			}
		}
		made, err := report.Compare([]report.Compared{compared(good), compared(other)}, 50)
		if err != nil {
			t.Fatal(err)
		}
		if answer := made.Comparisons[0].Equivalent; (answer != nil) != valid || valid && !*answer {
			t.Errorf("all cells valid: %t, equivalent: %v", valid, answer)
		}
	}
}

// TestEditedProfile checks that two runs with the same hash but different workloads do not count as repetitions of one
// specification: the hash does not cover the contents of a profile.
func TestEditedProfile(t *testing.T) {
	good, other := documents["good"].document(t), again(documents["good"].document(t), "other")
	*other.Spec.Run.Workload.Fio.QueueDepth *= 4
	_, err := report.NewRepeats([]report.Document{good, other})
	if err == nil || !strings.Contains(err.Error(), "fio.queueDepth: 8 and 32") {
		t.Errorf("their variance: %v", err)
	}
	made, err := report.Compare([]report.Compared{compared(good), compared(other)}, 5)
	if err != nil {
		t.Fatal(err)
	}
	if one := made.Comparisons[0]; one.SameSpec || len(one.SpecDiffers) != 1 {
		t.Errorf("the same specification: %t, differences: %v", one.SameSpec, one.SpecDiffers)
	}
}

// TestEquivalentOnlyIfComplete checks that two runs that lack the same phase are not equivalent, and that the
// comparison states why they lack it.
func TestEquivalentOnlyIfComplete(t *testing.T) {
	for name, note := range map[string]string{"interrupted": " failed (Stopped): ", "unfinished": " has not finished: "} {
		conditions := documents[name].document(t).Conditions
		good := documents["good"]
		sides := []report.Compared{compared(good.document(t)), compared(again(good.document(t), "other"))}
		for i := range sides {
			sides[i].Document.Phases, sides[i].Document.Conditions = sides[i].Document.Phases[:2], conditions
		}
		made, err := report.Compare(sides, 5)
		if err != nil {
			t.Fatal(err)
		}
		one := made.Comparisons[0]
		if one.Equivalent != nil || len(one.Notes) != 2 || !strings.Contains(one.Notes[0], note) {
			t.Errorf("%s: equivalent: %t, notes: %q", name, one.Equivalent != nil && *one.Equivalent, one.Notes)
		}
	}
}

// TestNotCompared checks that runs that cannot be compared are refused with a reason.
func TestNotCompared(t *testing.T) {
	good, ramp, sweep := documents["good"].document(t), all()["ramp"].document(t), all()["sweep"].document(t)
	ramp.RunUID, sweep.RunUID = "1", "2"
	otherRamp := again(all()["ramp"].document(t), "other")
	for i := range otherRamp.Spec.Run.Phases {
		if r := otherRamp.Spec.Run.Phases[i].Ramp; r != nil {
			r.Steps = append(r.Steps[:1:1], 77)
		}
	}
	itsTarget := report.Compared{Name: "a", Target: "data", Document: good}
	for name, test := range map[string]struct {
		sides []report.Compared
		says  string
	}{
		"alone":       {[]report.Compared{compared(good)}, "two or more runs"},
		"itself":      {[]report.Compared{compared(good), compared(good)}, "the same run"},
		"its target":  {[]report.Compared{compared(good), itsTarget}, "the same run"},
		"its run":     {[]report.Compared{itsTarget, compared(good)}, "the same run"},
		"no phase":    {[]report.Compared{compared(ramp), compared(sweep)}, "has no result for this phase"},
		"other steps": {[]report.Compared{compared(ramp), compared(otherRamp)}, "different steps"},
		"no target":   {[]report.Compared{{Name: "a", Target: "nowhere", Document: good}, compared(ramp)}, "no result for target \"nowhere\""},
	} {
		_, err := report.Compare(test.sides, 5)
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, margin := range []float64{0, -1, 101} {
		if _, err := report.Compare([]report.Compared{compared(good), compared(ramp)}, margin); err == nil || !strings.Contains(err.Error(), "margin") {
			t.Errorf("a margin of %g: %v", margin, err)
		}
	}
}
