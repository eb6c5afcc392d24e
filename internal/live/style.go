package live

import (
	"strings"
	"unicode"
)

// Style is the appearance of a piece of text.
type Style int

// The styles. Colour is never the only signal: symbols and words convey the same information.
const (
	Plain Style = iota
	Bold
	Dim
	Good
	Bad
	Warn
	Accent
)

var codes = map[Style]string{Bold: "1", Dim: "2", Good: "32", Bad: "31;1", Warn: "33", Accent: "36"}

// Options describes what the terminal can show.
type Options struct {
	Width, Height int
	// Colour is true if colours are allowed.
	Colour bool
	// Plain restricts output to ASCII.
	Plain bool
	// Hint is the last line, for example about Ctrl-C; it is not shown once the run has ended.
	Hint string
}

// piece is a styled part of a line.
type piece struct {
	style Style
	text  string
}

// line is one line of the view.
type line []piece

func text(words string) line { return line{{Plain, words}} }

func styled(style Style, words string) line { return line{{style, words}} }

func (l line) with(style Style, words string) line { return append(l, piece{style, words}) }

// draw renders the line in at most o.Width columns.
func (l line) draw(o Options) string {
	var b strings.Builder
	left := o.Width
	for _, one := range l {
		words := printable(one.text, o.Plain)
		if len(words) > left {
			words = words[:left]
			if left > 0 {
				words[left-1] = '…'
				if o.Plain {
					words[left-1] = '~'
				}
			}
		}
		left -= len(words)
		code := codes[one.style]
		if o.Colour && code != "" && len(words) > 0 {
			b.WriteString("\x1b[" + code + "m" + string(words) + "\x1b[0m")
			continue
		}
		b.WriteString(string(words))
	}
	return strings.TrimRight(b.String(), " ")
}

// printable returns text with one column per character. Names and messages from users and tools must neither move the
// cursor nor break lines.
func printable(text string, plain bool) []rune {
	var runes []rune
	for _, r := range text {
		switch {
		case r == '\n' || r == '\t':
			r = ' '
		case plain && r > unicode.MaxASCII:
			r = inASCII(r)
		case !unicode.IsPrint(r) || unicode.In(r, unicode.Mn, unicode.Me) || r >= 0x1100 && r < 0x2000 || r >= 0x2e80:
			r = '?' // replace control, combining and double-width characters
		}
		runes = append(runes, r)
	}
	return runes
}

func inASCII(r rune) rune {
	switch r {
	case '✓':
		return 'v'
	case '✗':
		return 'x'
	case '▶':
		return '>'
	case '·':
		return '.'
	case '→':
		return '>'
	}
	return '?'
}
