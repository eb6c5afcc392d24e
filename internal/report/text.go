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
	"github.com/storagebench/storagebench/internal/measure"
)

// Text writes a run for a terminal: the verdict and what disqualifies the figures first, then the figures, then other
// remarks. It is laid out for 100 columns; a table with long names is wider.
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

// headlineDetails writes why a run failed, and when it ran.
func (p *page) headlineDetails(d Document) {
	if failed := meta.FindStatusCondition(d.Conditions, v1alpha1.ConditionFailed); failed != nil && failed.Status == metav1.ConditionTrue {
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

// verdict summarizes in a few words how far the run can be trusted.
func verdict(d Document) string {
	var words []string
	switch {
	case meta.IsStatusConditionTrue(d.Conditions, v1alpha1.ConditionFailed):
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

// disqualified writes why the figures must not be used, above all figures.
func (p *page) disqualified(d Document) {
	remarks := remarksOf(d, v1alpha1.SeverityDisqualifying)
	if valid := meta.FindStatusCondition(d.Conditions, v1alpha1.ConditionValid); len(remarks) == 0 && valid != nil && valid.Status == metav1.ConditionFalse {
		remarks = []string{valid.Reason + ": " + valid.Message}
	}
	p.list("The figures do not measure what was asked for:", remarks)
}

func (p *page) environment(d Document) {
	if len(d.Environments) > 0 {
		p.line("", "")
	}
	for _, e := range d.Environments {
		words := []string{measure.FormatCount(int(e.Clients), "client")}
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

// mountText describes a volume as a client sees it. A raw device has a size and no file system.
func mountText(volume v1alpha1.MountedVolume) string {
	if volume.FileSystem == "" && volume.SizeBytes > 0 {
		return fmt.Sprintf("%s without a file system (%s)", volume.Name, measure.FormatBytes(uint64(volume.SizeBytes)))
	}
	return fmt.Sprintf("%s on %s (%s free)", cmp.Or(volume.FileSystem, "an unknown file system"), cmp.Or(volume.Source, "an unknown device"),
		measure.FormatBytes(uint64(max(volume.FreeBytes, 0))))
}

func cpus(milli int64) string {
	if milli%1000 == 0 {
		return measure.FormatCount(int(milli/1000), "CPU")
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

// remarksOf returns the warnings of one severity, each once with all phases that have it. It leaves out a note of the
// run that repeats a warning of a phase.
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

// textsOf returns the texts of all warnings of phases with one severity.
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

// severityOf returns the severity of a warning; an unknown one counts as disqualifying, the worst.
func severityOf(warning v1alpha1.Warning) v1alpha1.Severity {
	switch warning.Severity {
	case v1alpha1.SeverityInfo, v1alpha1.SeverityWarning:
		return warning.Severity
	case v1alpha1.SeverityDisqualifying:
	}
	return v1alpha1.SeverityDisqualifying
}

// manyTargets reports whether the run has results of several targets, so that targets must be named.
func manyTargets(d Document) bool {
	names := map[string]bool{}
	for _, phase := range d.Phases {
		for _, target := range phase.Targets {
			names[target.Target] = true
		}
	}
	return len(names) > 1
}
