package report

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// width is the number of columns to which text is wrapped.
const width = 100

// page builds text for a terminal. It replaces characters that a terminal would interpret, because messages quote the
// output of tools, which can contain anything.
type page struct {
	strings.Builder
	// parts, if not nil, receives what would be written, for formats other than text.
	parts *[]part
}

// line writes a paragraph; lines after the first are indented by two more columns.
func (p *page) line(indent, text string) {
	if p.parts != nil {
		p.take(part{text: strings.TrimPrefix(strings.Join(wordsOf(text), " "), "- ")})
		return
	}
	at := 0
	for i, word := range wordsOf(text) {
		length := utf8.RuneCountInString(word)
		switch {
		case i == 0:
			p.WriteString(indent)
			at = len(indent)
		case at+1+length > width:
			p.WriteString("\n" + indent + "  ")
			at = len(indent) + 2
		default:
			p.WriteString(" ")
			at++
		}
		p.WriteString(word)
		at += length
	}
	p.WriteString("\n")
}

// units are never separated from their number by a line break.
var units = []string{"B", "kB", "MB", "GB", "TB", "PB", "B/s", "kB/s", "MB/s", "GB/s", "TB/s", "IOPS", "bytes", "ns", "us", "ms", "s", "%", "CPUs", "clients"}

func wordsOf(text string) []string {
	var words []string
	for _, word := range strings.Fields(printable(text)) {
		last := len(words) - 1
		if last >= 0 && slices.Contains(units, strings.TrimRight(word, ".,;:)")) && strings.ContainsAny(words[last][len(words[last])-1:], "0123456789") {
			words[last] += " " + word
			continue
		}
		words = append(words, word)
	}
	return words
}

// list writes paragraphs under a title; nothing if there are none.
func (p *page) list(title string, items []string) {
	if len(items) == 0 {
		return
	}
	if p.parts != nil {
		p.take(part{text: title, items: items})
		return
	}
	p.WriteString("\n")
	p.line("  ", title)
	for _, item := range items {
		p.line("  ", "- "+item)
	}
}

// printable replaces characters that a terminal would interpret: white space by a blank, others by U+FFFD.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return unicode.ReplacementChar
		}
		return r
	}, text)
}
