package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
)

// Text writes a run for people: the verdict and what disqualifies first, then the figures, then what
// else there is to know about them. It is made for 100 columns; a table with long names takes more.
func Text(w io.Writer, document Document) error {
	p := &page{}
	p.headline(document)
	p.disqualified(document)
	p.summary(document)
	p.objectives(document)
	p.environment(document)
	p.phases(document)
	p.promises(document)
	p.warnings(document)
	p.losses(document)
	if _, err := io.WriteString(w, p.String()); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

func (p *page) headline(d Document) {
	p.WriteString(printable(d.Benchmark+"  "+verdict(d)) + "\n")
	p.headlineDetails(d)
}

// headlineDetails are why a run has failed, and when it was.
func (p *page) headlineDetails(d Document) {
	if failed := condition(d, v1alpha1.ConditionFailed); isTrue(failed) {
		p.line("  ", failed.Reason+": "+failed.Message)
	}
	text := "run " + d.Run
	if d.StartTime != nil {
		text += ", " + d.StartTime.UTC().Format("2006-01-02 15:04:05 UTC")
		if d.EndTime != nil {
			text += ", took " + d.EndTime.Sub(d.StartTime.Time).Round(100*time.Millisecond).String()
		}
	}
	p.line("  ", text)
}

// verdict is a few words that say how far the run can be believed.
func verdict(d Document) string {
	var words []string
	switch {
	case isTrue(condition(d, v1alpha1.ConditionFailed)):
		words = append(words, "FAILED")
	case isTrue(condition(d, v1alpha1.ConditionComplete)):
		words = append(words, "complete")
	default:
		words = append(words, "not finished: "+cmp.Or(d.Stage, "unknown"))
	}
	if valid := condition(d, v1alpha1.ConditionValid); valid != nil {
		switch valid.Status {
		case metav1.ConditionTrue:
			words = append(words, "valid")
		case metav1.ConditionFalse:
			words = append(words, "NOT VALID")
		case metav1.ConditionUnknown:
			words = append(words, "no result")
		}
	}
	if objectives := condition(d, v1alpha1.ConditionObjectivesMet); objectives != nil && objectives.Status != metav1.ConditionTrue {
		words = append(words, map[bool]string{true: "OBJECTIVES MISSED", false: "OBJECTIVES NOT JUDGED"}[objectives.Status == metav1.ConditionFalse])
	}
	return strings.Join(words, ", ")
}

// disqualified says why the figures are not to be used, before anybody has seen them.
func (p *page) disqualified(d Document) {
	remarks := remarksOf(d, v1alpha1.SeverityDisqualifying)
	if valid := condition(d, v1alpha1.ConditionValid); len(remarks) == 0 && valid != nil && valid.Status == metav1.ConditionFalse {
		remarks = []string{valid.Reason + ": " + valid.Message}
	}
	p.list("The figures do not measure what was asked for:", remarks)
}

func (p *page) environment(d Document) {
	if len(d.Environments) > 0 {
		p.line("", "")
	}
	for _, e := range d.Environments {
		words := []string{plural(int(e.Clients), "client")}
		if tool := cmp.Or(e.ToolVersion, string(e.Engine)); tool != "" {
			words = append(words, tool)
		}
		for _, volume := range e.Volumes {
			words = append(words, mountText(volume))
		}
		if e.Kernel != "" {
			words = append(words, "Linux "+e.Kernel)
		}
		if e.CPUMilli > 0 {
			words = append(words, cpus(e.CPUMilli))
		}
		p.line("  ", "target "+e.Target+": "+strings.Join(words, ", "))
	}
}

// mountText is what a client sees of a volume. A raw device has a size and no file system.
func mountText(volume v1alpha1.MountedVolume) string {
	if volume.FileSystem == "" && volume.SizeBytes > 0 {
		return fmt.Sprintf("%s without a file system (%s)", volume.Name, measure.FormatBytes(uint64(volume.SizeBytes)))
	}
	return fmt.Sprintf("%s on %s (%s free)", cmp.Or(volume.FileSystem, "an unknown file system"), cmp.Or(volume.Source, "an unknown device"),
		measure.FormatBytes(uint64(max(volume.FreeBytes, 0))))
}

func cpus(milli int64) string {
	if milli%1000 == 0 {
		return plural(int(milli/1000), "CPU")
	}
	return fmt.Sprintf("%.1f CPUs", float64(milli)/1000)
}

func (p *page) warnings(d Document) {
	before := p.Len()
	p.list("Warnings (results are valid):", remarksOf(d, v1alpha1.SeverityWarning))
	p.list("Notes:", remarksOf(d, v1alpha1.SeverityInfo))
	if p.Len() == before && len(d.Phases) > 0 && len(remarksOf(d, v1alpha1.SeverityDisqualifying)) == 0 {
		p.line("", "")
		p.line("  ", "no warnings")
	}
}

func (p *page) losses(d Document) {
	var lost []string
	for _, one := range d.LostClients {
		when, what := "between steps", "not replaced"
		if one.Step != "" {
			when = "in step " + one.Step
		}
		if one.Replaced {
			what = "replaced"
		}
		lost = append(lost, fmt.Sprintf("client %s/%d, %s, %s: %s", one.Target, one.Client, when, what, one.Reason))
	}
	p.list("Lost clients:", lost)
	var left []string
	for _, one := range d.DataLeft {
		left = append(left, one.Path+": "+one.Reason)
	}
	p.list("Data that could not be removed:", left)
}

// remarksOf are the warnings of one severity, each once with all the phases that have it.
func remarksOf(d Document, severity v1alpha1.Severity) []string {
	type remark struct {
		text  string
		where []string
	}
	var all []*remark
	worse := map[string]bool{}
	if severity == v1alpha1.SeverityInfo {
		worse = textsOf(d, v1alpha1.SeverityWarning)
	}
	add := func(where string, warning v1alpha1.Warning) {
		text := textOf(warning)
		if severityOf(warning) != severity || worse[text] {
			return
		}
		for _, known := range all {
			if known.text == text {
				known.where = append(known.where, where)
				return
			}
		}
		all = append(all, &remark{text: text, where: []string{where}})
	}
	for _, warning := range d.Warnings {
		add("run", warning)
	}
	for _, phase := range d.Phases {
		for _, target := range phase.Targets {
			where := phase.Name
			if manyTargets(d) {
				where += "/" + target.Target
			}
			for _, warning := range target.Warnings {
				add(where, warning)
			}
		}
	}
	var texts []string
	for _, one := range all {
		texts = append(texts, strings.Join(one.where, ", ")+": "+one.text)
	}
	return texts
}

func textOf(warning v1alpha1.Warning) string { return string(warning.Type) + ": " + warning.Message }

// textsOf are all that is said with one severity: what is told of one phase as a warning is not told
// again as harmless in another.
func textsOf(d Document, severity v1alpha1.Severity) map[string]bool {
	texts := map[string]bool{}
	for _, phase := range d.Phases {
		for _, target := range phase.Targets {
			for _, warning := range target.Warnings {
				if severityOf(warning) == severity {
					texts[textOf(warning)] = true
				}
			}
		}
	}
	return texts
}

// severityOf takes a severity that is not known for the worst.
func severityOf(warning v1alpha1.Warning) v1alpha1.Severity {
	switch warning.Severity {
	case v1alpha1.SeverityInfo, v1alpha1.SeverityWarning:
		return warning.Severity
	case v1alpha1.SeverityDisqualifying:
	}
	return v1alpha1.SeverityDisqualifying
}

// manyTargets reports whether a target has to be named.
func manyTargets(d Document) bool {
	names := map[string]bool{}
	for _, phase := range d.Phases {
		for _, target := range phase.Targets {
			names[target.Target] = true
		}
	}
	return len(names) > 1
}

func condition(d Document, kind string) *metav1.Condition {
	for i := range d.Conditions {
		if d.Conditions[i].Type == kind {
			return &d.Conditions[i]
		}
	}
	return nil
}

func isTrue(c *metav1.Condition) bool { return c != nil && c.Status == metav1.ConditionTrue }

func plural(count int, what string) string {
	if count == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", count, what)
}
