package v1alpha1_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// TestEventNote checks that notes have at most 1024 bytes and are valid UTF-8: the API server refuses other events.
func TestEventNote(t *testing.T) {
	for _, c := range []string{"x", "ä", "€", "𝄞"} {
		for n := 1000 / len(c); n <= 1100/len(c); n++ {
			text := "client " + strings.Repeat(c, n)
			got := v1alpha1.EventNote("%s %s", "client", strings.Repeat(c, n))
			if len(text) <= 1024 && got != text {
				t.Errorf("%d bytes became %d", len(text), len(got))
			}
			head, cut := strings.CutSuffix(got, "...")
			shortened := cut && len(got) <= 1024 && len(got) > 1024-len(c) && strings.HasPrefix(text, head)
			if len(text) > 1024 && !shortened || !utf8.ValidString(got) {
				t.Errorf("%d bytes became %d: %.40q...%q", len(text), len(got), got, got[len(got)-10:])
			}
		}
	}
	if got := v1alpha1.EventNote("a\xffb"); got != "a\uFFFDb" {
		t.Errorf("got %q", got)
	}
}
