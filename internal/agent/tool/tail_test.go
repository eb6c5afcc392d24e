package tool

import (
	"strings"
	"testing"
)

func TestTail(t *testing.T) {
	t.Parallel()
	kept := &Tail{Limit: 16}
	for _, part := range []string{"first ", "words ", "and ", "many ", "more ", "last"} {
		if n, err := kept.Write([]byte(part)); n != len(part) || err != nil {
			t.Errorf("got %d, %v", n, err)
		}
	}
	if got, want := kept.String(), "first wo\n[...]\nore last"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	short := &Tail{Limit: 16}
	short.Note("")
	if got := short.String(); !strings.HasPrefix(got, "storageb") {
		t.Errorf("got %q", got)
	}
}
