package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Markdown writes a run for a pull request: the verdict, what disqualifies and the summary at the top, everything else
// folded away. Names and messages hold words of users and tools, and are written so that they can neither format nor
// mention anything.
func Markdown(w io.Writer, d Document) error {
	m := &markdown{}
	m.line("### " + inMarkdown(d.Benchmark) + ": " + inMarkdown(verdict(d)))
	for _, one := range headlineParts(d) {
		m.part(one)
	}
	m.fold("All figures", figureParts(d))
	m.fold("What is documented, and what was reached", partsOf(func(p *page) { p.promises(d) }))
	m.fold("Timeline", partsOf(func(p *page) { p.timeline(d) }))
	m.fold("Environment", partsOf(func(p *page) { p.environment(d); p.losses(d) }))
	if _, err := io.WriteString(w, m.String()); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// headlineParts are what comes first in every form: whether the figures can be believed, what was asked for and met, what
// they are, and what else they may mean.
func headlineParts(d Document) []part {
	return append(doubts(d), partsOf(func(p *page) {
		p.summary(d)
		p.objectives(d)
		p.list("Notes:", remarksOf(d, v1alpha1.SeverityInfo))
	})...)
}

// doubts are when the run was, why it has failed, and what its figures may not mean.
func doubts(d Document) []part {
	return partsOf(func(p *page) {
		p.headlineDetails(d)
		p.disqualified(d)
		p.list("Warnings (results are valid):", remarksOf(d, v1alpha1.SeverityWarning))
	})
}

// figureParts are all figures of all phases.
func figureParts(d Document) []part {
	return partsOf(func(p *page) { p.figures(d) })
}

// markdown is text of GitHub's dialect.
type markdown struct {
	strings.Builder
}

func (m *markdown) line(text string) { m.WriteString(text + "\n\n") }

// fold hides parts until somebody opens them.
func (m *markdown) fold(title string, parts []part) {
	if len(parts) == 0 {
		return
	}
	m.line("<details><summary>" + title + "</summary>")
	for _, one := range parts {
		m.part(one)
	}
	m.line("</details>")
}

func (m *markdown) part(one part) {
	switch {
	case len(one.items) > 0:
		m.line("**" + inMarkdown(one.text) + "**")
		for _, item := range one.items {
			m.WriteString("- " + inMarkdown(item) + "\n")
		}
		m.WriteString("\n")
	case len(one.tables) > 0:
		if one.text != "" {
			m.line("**" + inMarkdown(one.text) + "**")
		}
		for _, table := range one.tables {
			if table.name != "" {
				m.line(inMarkdown(table.name) + ":")
			}
			m.table(table)
		}
	default:
		m.line(inMarkdown(one.text))
	}
}

func (m *markdown) table(t partTable) {
	for i, line := range t.lines {
		m.WriteString("|")
		for _, cell := range line {
			m.WriteString(" " + inMarkdown(cell) + " |")
		}
		m.WriteString("\n")
		if i > 0 {
			continue
		}
		m.WriteString("|")
		for column := range line {
			m.WriteString(map[bool]string{true: " --- |", false: " ---: |"}[column < t.left])
		}
		m.WriteString("\n")
	}
	m.WriteString("\n")
}

// inMarkdown writes text so that it is only text: no format, no markup, no link, and no mention of people or issues.
func inMarkdown(text string) string {
	var b strings.Builder
	for i, r := range printable(text) {
		switch {
		case strings.ContainsRune("\\`*_{}[]()<>#|~!&", r) && !(r == '(' || r == ')' || r == '!') || i == 0 && strings.ContainsRune("-+=", r) && len(text) > 1:
			b.WriteRune('\\')
			b.WriteRune(r)
		case r == '@':
			b.WriteString("&#64;")
		case r == ':' && strings.HasPrefix(text[i:], "://"):
			b.WriteString("&#58;")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
