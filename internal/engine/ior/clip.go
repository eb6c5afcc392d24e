package ior

import "strings"

// maxQuoteBytes bounds how much of a line of output is quoted in a message.
const maxQuoteBytes = 240

// clip shortens a line for a message.
func clip(text string) string {
	text = strings.TrimSpace(text)
	if len(text) <= maxQuoteBytes {
		return text
	}
	return strings.ToValidUTF8(text[:maxQuoteBytes], "") + " ..."
}
