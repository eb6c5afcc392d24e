package tool

import (
	"strings"
	"unicode"
)

// Printable returns a text as valid UTF-8 without control characters except newline and tab. File names and output
// of tools can contain arbitrary bytes.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t', unicode.IsPrint(r):
			return r
		case unicode.IsSpace(r) && !unicode.IsControl(r):
			return ' '
		}
		return -1
	}, text)
}

// OneLine returns an error's message as one printable line, because an exiting agent prints only one line.
func OneLine(err error) string { return Printable(strings.ReplaceAll(err.Error(), "\n", "; ")) }
