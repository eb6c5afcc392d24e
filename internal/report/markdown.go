package report

import (
	"html"
	"io"
	"strings"
)

// Markdown writes a run for a pull request: the short text and, for each section that has details, a collapsed full
// version. Names and messages come from users and tools, so they are escaped: they cannot add formatting or mentions.
func Markdown(w io.Writer, d Document) error {
	m := &markdown{}
	m.line("### " + inMarkdown(d.Benchmark) + ": " + inMarkdown(strings.Join(checks(d), ", ")))
	for _, text := range lead(d) {
		m.line(inMarkdown(text))
	}
	for _, s := range sectionsOf(d) {
		short := s.short()
		if len(short.parts) > 0 {
			m.section(short)
		}
		if s.hasDetails() {
			title := s.Title
			if len(short.parts) > 0 {
				title += " in full"
			}
			m.fold(title, s.parts)
		}
	}
	return writeText(w, "the report", m.String())
}

// markdown builds text in GitHub Flavored Markdown.
type markdown struct {
	strings.Builder
}

func (m *markdown) line(text string) { m.WriteString(text + "\n\n") }

func (m *markdown) section(s section) {
	if s.Title != "" {
		m.line("#### " + inMarkdown(s.Title))
	}
	for _, one := range s.parts {
		m.part(one)
	}
}

// fold writes parts that stay collapsed until the reader opens them.
func (m *markdown) fold(title string, parts []part) {
	m.line("<details><summary>" + inHTMLBlock(title) + "</summary>")
	for _, one := range parts {
		m.part(one)
	}
	m.line("</details>")
}

func (m *markdown) part(one part) {
	switch {
	case len(one.items) > 0:
		if one.text != "" {
			m.line("**" + inMarkdown(one.text) + "**")
		}
		for _, entry := range one.items {
			m.WriteString("- " + inMarkdown(entry.String()) + "\n")
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
	for i, line := range trimmed(t.lines) {
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

// unlinked is a zero-width space, which prevents the text around it from becoming a link or a mention. Writing a
// character such as @ as an entity would not prevent that, because GitHub and GitLab look for links and mentions in the
// rendered text.
const unlinked = "&#8203;"

// inMarkdown escapes text so that it contains no formatting, markup or links and mentions no people or issues.
// GitHub Flavored Markdown also links bare URLs, www. addresses and e-mail addresses.
func inMarkdown(text string) string {
	return unlink(text, func(i int, r rune) string {
		if strings.ContainsRune("\\`*_{}[]<>#|~&", r) || i == 0 && strings.ContainsRune("-+=", r) && len(text) > 1 {
			return `\` + string(r)
		}
		return string(r)
	})
}

// inHTMLBlock does the same as inMarkdown for text in an HTML block, where Markdown has no escapes.
func inHTMLBlock(text string) string {
	return unlink(text, func(_ int, r rune) string { return html.EscapeString(string(r)) })
}

// unlink makes text printable, passes each character through escape, and breaks up links and mentions.
func unlink(text string, escape func(i int, r rune) string) string {
	text = printable(text)
	var b strings.Builder
	for i, r := range text {
		if r == '.' && i >= 3 && strings.EqualFold(text[i-3:i], "www") {
			b.WriteString(unlinked)
		}
		b.WriteString(escape(i, r))
		if r == '@' || r == '#' || r == ':' && strings.HasPrefix(text[i:], "://") {
			b.WriteString(unlinked)
		}
	}
	return b.String()
}
