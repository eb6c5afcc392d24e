// Package testevents reads the output of `go test -json`.
package testevents

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
)

const modulePrefix = "github.com/storagebench/storagebench/"

// Event is a line of `go test -json`, as documented by `go doc test2json`. Package is a directory of this repository.
type Event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

// Ends reports whether the event is the result of a test, or the result of a package if Test is empty.
func (e Event) Ends() bool { return e.Action == "pass" || e.Action == "fail" || e.Action == "skip" }

// Read passes each event to the function take. It skips lines that are not events.
func Read(from io.Reader, take func(Event)) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e Event
		if json.Unmarshal(lines.Bytes(), &e) == nil {
			e.Package = strings.TrimPrefix(e.Package, modulePrefix)
			take(e)
		}
	}
	return lines.Err()
}
