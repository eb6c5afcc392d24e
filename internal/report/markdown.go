package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Markdown writes a run for a pull request: the verdict, what disqualifies the figures and the summary at the top,
// everything else collapsed. Names and messages come from users and tools; they are escaped so that they can neither
// format nor mention anything.
func Markdown(w io.Writer, d Document) error {
	m := &markdown{}
	m.line("### " + inMarkdown(d.Benchmark) + ": " + inMarkdown(verdict(d)))
	for _, one := range headlineParts(d) {
		m.part(one)
	}
	m.fold("All figures", figureParts(d))
	m.fold("Documented and measured", partsOf(func(p *page) { p.promises(d) }))
	m.fold("Timeline", partsOf(func(p *page) { p.timeline(d) }))
	m.fold("Environment", partsOf(func(p *page) { p.environment(d); p.losses(d) }))
	if _, err := io.WriteString(w, m.String()); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// headlineParts returns the parts at the top: whether the figures can be trusted, the summary, the objectives and the
// notes.
func headlineParts(d Document) []part {
	return append(doubts(d), partsOf(func(p *page) {
		p.summary(d)
		p.objectives(d)
		p.list("Notes:", remarksOf(d, v1alpha1.SeverityInfo))
	})...)
}

// doubts returns the time of the run, the reason if it failed, and the reasons to doubt its figures.
func doubts(d Document) []part {
	return partsOf(func(p *page) {
		p.headlineDetails(d)
		p.disqualified(d)
		p.list("Warnings (results are valid):", remarksOf(d, v1alpha1.SeverityWarning))
	})
}

// figureParts returns all figures of all phases.
func figureParts(d Document) []part {
	return partsOf(func(p *page) { p.figures(d) })
}

// markdown builds text in GitHub Flavored Markdown.
type markdown struct {
	strings.Builder
}

func (m *markdown) line(text string) { m.WriteString(text + "\n\n") }

// fold writes parts that stay collapsed until the reader opens them.
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

// unlinked is a zero-width space, which keeps the text around it from becoming a link or a mention. An entity of the
// character itself would not: GitHub and GitLab look for both in the rendered text.
const unlinked = "&#8203;"

// inMarkdown escapes text so that it contains no formatting, markup or links and mentions no people or issues. GitHub
// Flavored Markdown also links bare addresses: with a scheme, of www., and of e-mail.
func inMarkdown(text string) string {
	text = printable(text)
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == '.' && i >= 3 && strings.EqualFold(text[i-3:i], "www"):
			b.WriteString(unlinked)
		case strings.ContainsRune("\\`*_{}[]<>#|~&", r) || i == 0 && strings.ContainsRune("-+=", r) && len(text) > 1:
			b.WriteRune('\\')
		}
		b.WriteRune(r)
		if r == '@' || r == '#' || r == ':' && strings.HasPrefix(text[i:], "://") {
			b.WriteString(unlinked)
		}
	}
	return b.String()
}
