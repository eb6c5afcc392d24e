package v1alpha1

import "strings"

// Truncate shortens text to at most length characters, counted as the API server counts them for
// maxLength, and makes it valid UTF-8. Shortened text ends with "...". Use it for every message
// that quotes external text: with one character too many, the API server rejects the whole status
// update.
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
