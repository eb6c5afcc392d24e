package report

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// width is what text is wrapped to.
const width = 100

// page is text for a terminal. What is written is made harmless first: messages hold the words of
// tools, and those can hold anything.
type page struct {
	strings.Builder
	// parts, where it is not nil, takes what would be written, for forms other than text.
	parts *[]part
}

// line writes a paragraph; lines after the first are indented a little deeper.
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

// units stay on the line of their number.
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

// list writes paragraphs under a title; nothing when there are none.
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

// printable replaces what a terminal would obey.
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
