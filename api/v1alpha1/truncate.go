package v1alpha1

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Truncate shortens text to at most length characters, counted as the API server counts them for maxLength, and makes
// it valid UTF-8. Shortened text ends with "...". Use it for every message that quotes external text: the API server
// rejects the whole status update if one message is too long.
func Truncate(text string, length int) string {
	const mark = "..."
	text = strings.ToValidUTF8(text, "\uFFFD")
	count := 0
	cut := 0
	for offset := range text {
		if count == max(0, length-len(mark)) {
			cut = offset
		}
		if count == length {
			if length < len(mark) {
				return text[:offset]
			}
			return text[:cut] + mark
		}
		count++
	}
	return text
}

// maxEventNote is the API server's limit for the note of an event, in bytes.
const maxEventNote = 1024

// EventNote formats the note of an event and shortens it to what the API server accepts. Unlike other texts, a note is
// limited in bytes; the API server rejects events with longer notes.
func EventNote(format string, arguments ...any) string {
	text := strings.ToValidUTF8(fmt.Sprintf(format, arguments...), "\uFFFD")
	if len(text) <= maxEventNote {
		return text
	}
	const mark = "..."
	end := maxEventNote - len(mark)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + mark
}
