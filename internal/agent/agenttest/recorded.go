// Package agenttest provides helpers for the tests of the agent and of its tools: recorded runs of fio, and a clock for
// replaying them.
package agenttest

import (
	"bytes"
	"os"
	"regexp"
	"strconv"
	"sync/atomic"
	"testing"
)

// Clock is a fake clock that returns the times set by Set.
type Clock struct{ monotonic, wall atomic.Int64 }

// Monotonic implements tool.Clock.
func (c *Clock) Monotonic() int64 { return c.monotonic.Load() }

// Wall implements tool.Clock.
func (c *Clock) Wall() int64 { return c.wall.Load() }

// Set sets both clocks from a Unix time in milliseconds. The monotonic clock then shows the time since a fixed boot
// time, and the wall clock shows the Unix time plus offset milliseconds.
func (c *Clock) Set(milliseconds, offset int64) {
	const boot = 1795250000000
	c.monotonic.Store((milliseconds - boot) * 1e6)
	c.wall.Store((milliseconds + offset) * 1e6)
}

// Dump is one JSON document of fio's output, with its Unix time. Text also contains the messages that precede the
// document.
type Dump struct {
	Text         []byte
	Milliseconds int64
}

var stamp = regexp.MustCompile(`"timestamp_ms" : ([0-9]+)`)

// Stamped returns the dump's text with the given timestamp in place of the recorded one.
func (d Dump) Stamped(milliseconds int64) []byte {
	return stamp.ReplaceAll(d.Text, []byte(`"timestamp_ms" : `+strconv.FormatInt(milliseconds, 10)))
}

// Dumps returns the dumps of a recorded run. The recordings are in testdata/runs of package internal/engine/fio.
func Dumps(t *testing.T, path string) []Dump {
	t.Helper()
	text, err := os.ReadFile(path)
	Must(t, err)
	var all []Dump
	for part := range bytes.SplitAfterSeq(text, []byte("\n}\n")) {
		match := stamp.FindSubmatch(part)
		if match == nil {
			continue
		}
		at, err := strconv.ParseInt(string(match[1]), 10, 64)
		Must(t, err)
		all = append(all, Dump{part, at})
	}
	return all
}

// Must ends the test if err is not nil.
func Must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
