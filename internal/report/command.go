package report

import (
	"fmt"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
)

// sourceNames maps the sources of byte counts to their names in the report.
var sourceNames = map[v1alpha1.CommandSource]string{
	v1alpha1.SourceMount:        "statistics of the mount",
	v1alpha1.SourceControlGroup: "control group's device counts",
	v1alpha1.SourceStorage:      "storage I/O of the processes",
	v1alpha1.SourceCalls:        "system calls of the processes",
}

// commands writes the results of command workloads, which run users' programs.
func (p *page) commands(d Document) {
	said := false
	for phase, target := range v1alpha1.TargetResults(d.Phases) {
		if target.Command != nil {
			said = true
			p.ran(where(d, phase, target), target.Command)
		}
	}
	if said {
		p.gap()
		p.line("The figures of a program cover all reads and writes of its process tree, from the start of the program until its " +
			"dirty pages are on the storage, as counted by the first source. Individual operations are not timed.")
	}
}

func (p *page) ran(where string, c *v1alpha1.CommandResult) {
	text := where + ": the program "
	switch {
	case c.CutShort:
		text += "was stopped after "
	case c.ExitCode != 0:
		text += fmt.Sprintf("ended with exit code %d after ", c.ExitCode)
	default:
		text += "ran for "
	}
	text += length(c.DurationNanoseconds)
	if c.FlushNanoseconds >= 1e7 {
		text += ", and flushing its data took another " + length(c.FlushNanoseconds)
	}
	if c.DisagreementPermille != nil {
		text += fmt.Sprintf("; the sources differ by up to %s", measure.FormatShare(float64(*c.DisagreementPermille)/1000))
	}
	p.gap()
	p.line(text)
	p.command(c.CommandLine)
	if len(c.Sources) == 0 {
		return
	}
	lines := [][]string{{"COUNTED BY", "READ", "WRITTEN", "READS", "WRITES"}}
	for _, source := range c.Sources {
		name := sourceNames[source.Source]
		if name == "" {
			name = printable(string(source.Source))
		}
		if source.Source == c.Source && len(c.Sources) > 1 {
			name += " *"
		}
		lines = append(lines, []string{name, bytesText(source.ReadBytes), bytesText(source.WriteBytes), callsText(source.ReadOperations), callsText(source.WriteOperations)})
	}
	p.gap()
	p.nestedColumns(lines, 1)
	if len(c.Sources) > 1 {
		p.nested("* the source of the figures")
	}
}

func callsText(count *int64) string {
	if count == nil {
		return absent
	}
	return operationsText(*count)
}
