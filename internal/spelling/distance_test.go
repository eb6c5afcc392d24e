package spelling

import (
	"strings"
	"testing"
)

func TestDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"claim", "claimName", 4}, {"kitten", "sitting", 3}, {"hdd-33", "hdd-32", 1},
	} {
		if got := Distance(test.a, test.b); got != test.want {
			t.Errorf("from %q to %q: %d, want %d", test.a, test.b, got, test.want)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"rand-read-4k", "rand-write-4k", "oltp-8k", "oltp-9k"}
	for _, test := range []struct {
		name  string
		below int
		want  int
	}{
		{"rand-raed-4k", 4, 0}, {"rand-raed-4k", 2, -1}, {"oltp-7k", 4, 2}, {"rand-write-4k", 1, 1}, {"etcd-wal", 4, -1}, {"", 4, -1},
		{strings.Repeat("oltp-8k", 1000), 4, -1},
	} {
		if got := Nearest(test.name, known, test.below); got != test.want {
			t.Errorf("%.20q below %d: %d, want %d", test.name, test.below, got, test.want)
		}
	}
}
