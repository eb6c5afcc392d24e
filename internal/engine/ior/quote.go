package ior

import "strings"

// maxQuoteBytes bounds what of a line of output stands in a message.
const maxQuoteBytes = 240

// clip shortens a line for a message.
func clip(text string) string {
	text = strings.TrimSpace(text)
	if len(text) <= maxQuoteBytes {
		return text
	}
	return strings.ToValidUTF8(text[:maxQuoteBytes], "") + " ..."
}
