package record

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestTroubleshootingWords checks that docs/troubleshooting.md has a row, with the right reason, for each word in
// parentheses at the end of a failed step's message that becomes a reason of its own, and for no other words.
func TestTroubleshootingWords(t *testing.T) {
	page, err := os.ReadFile("../../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "### The word in parentheses\n")
	section, _, closed := strings.Cut(section, "\n### ")
	if !found || !closed {
		t.Fatal("the page has no section of words")
	}
	rows := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([A-Za-z]+)` \\| `([A-Za-z]+)` \\|").FindAllStringSubmatch(section, -1) {
		rows[row[1]] = row[2]
	}
	for word, reason := range reasons {
		if rows[word] != reason {
			t.Errorf("%s is %s, and the page says %q", word, reason, rows[word])
		}
	}
	for word := range rows {
		if reasons[word] == "" {
			t.Errorf("the page has %s, which becomes no reason", word)
		}
	}
}
