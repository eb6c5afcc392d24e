package ior

import "strings"

// maxQuoteBytes is the maximum number of bytes of an output line that a message quotes.
const maxQuoteBytes = 240

// clip shortens a line for a message.
func clip(text string) string {
	text = strings.TrimSpace(text)
	if len(text) <= maxQuoteBytes {
		return text
	}
	return strings.ToValidUTF8(text[:maxQuoteBytes], "") + " ..."
}
