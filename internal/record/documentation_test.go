package record

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestTroubleshootingWords checks the table in docs/troubleshooting.md of words that can end the message of a failed
// step, in parentheses. It must have a row, with the right reason, for each word that becomes a reason, and no other
// rows.
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
