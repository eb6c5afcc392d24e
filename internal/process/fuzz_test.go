package process

import (
	"strings"
	"testing"
	"time"
)

// FuzzParseStat parses untrusted lines: a process chooses its own name.
func FuzzParseStat(f *testing.F) {
	f.Add("42 (fio) S 1 42 43 0 -1 4194560 100 200 0 0 7 3 20 10 20 0 1 0 12345 1000", "fio")
	f.Add("7 (a) R 1 (b) D 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20", ") Z 1 1 1")
	f.Fuzz(func(t *testing.T, line, name string) {
		if got, err := parseStat([]byte(line)); err == nil && got.State == 0 {
			t.Errorf("%q was read without a state", line)
		}
		if strings.ContainsRune(name, 0) {
			return
		}
		// The name must not affect any other field.
		got, err := parseStat([]byte("42 (" + name + ") D 1 41 40 0 -1 4194560 100 200 0 0 7 3 20 10 20 0 1 0 12345 1000"))
		want := Process{PID: 42, PPID: 1, PGID: 41, Command: name, State: 'D', StartTicks: 12345, CPU: 400 * time.Millisecond}
		if err != nil || got != want {
			t.Errorf("name %q: got %+v, %v", name, got, err)
		}
	})
}
