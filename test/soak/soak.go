package soak

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
)

const (
	// enabledEnvironment is the environment variable that the runner sets. Without it, soak tests are skipped.
	enabledEnvironment = "SOAK"
	// findingsEnvironment is the environment variable with the file to which findings are appended, one JSON object per
	// line.
	findingsEnvironment = "SOAK_FINDINGS"
	// InconclusivePrefix begins the reason of an inconclusive test. The runner searches the test's output for it.
	InconclusivePrefix = "inconclusive: "
)

// Enabled reports whether soak tests are enabled.
func Enabled() bool { return os.Getenv(enabledEnvironment) != "" }

// Main is the body of TestMain in a soak package. It runs the tests only if soak tests are enabled.
func Main(m *testing.M) {
	if !Enabled() {
		fmt.Println("soak tests are run by `make soak`")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Only skips a test unless soak tests are enabled.
func Only(t testing.TB) {
	t.Helper()
	if !Enabled() {
		t.Skip("make soak runs it")
	}
}

// Inconclusive ends a test as inconclusive. The reason should name the control and its value.
func Inconclusive(t testing.TB, format string, arguments ...any) {
	t.Helper()
	t.Skip(InconclusivePrefix + fmt.Sprintf(format, arguments...))
}

// Finding is a measurement that the record of a part keeps: a text, or a row of a table.
type Finding struct {
	Test string `json:"test"`
	// Package is the test's folder, if another package may have a test of this name.
	Package string `json:"package,omitempty"`
	Title   string `json:"title"`
	Text    string `json:"text,omitempty"`
	Row     *Row   `json:"row,omitempty"`
}

// Row compares a figure of storagebench with a control that was measured beside it. Its texts have units.
type Row struct {
	// Ours and Control are the figures. Versus names the control; Control and Versus are empty if there is none.
	Ours    string `json:"ours"`
	Control string `json:"control,omitempty"`
	Versus  string `json:"versus,omitempty"`
	// Bound is the condition that the figure must meet, or empty, and Met is true if it does.
	Bound string `json:"bound,omitempty"`
	Met   bool   `json:"met,omitempty"`
}

var appending sync.Mutex

// Report logs a measurement and adds it to the record of the running part.
func Report(t testing.TB, title, format string, arguments ...any) {
	t.Helper()
	text := fmt.Sprintf(format, arguments...)
	t.Logf("%s: %s", title, text)
	keepFinding(t, Finding{Test: t.Name(), Title: title, Text: text})
}

// Compare logs a row of the performance table and adds it to the record of the running part. title names the figure.
func Compare(t testing.TB, title string, row Row) {
	t.Helper()
	t.Logf("%s: %s; %s: %s; bound: %s, met: %t", title, row.Ours, row.Versus, row.Control, row.Bound, row.Met)
	keepFinding(t, Finding{Test: t.Name(), Title: title, Row: &row})
}

func keepFinding(t testing.TB, finding Finding) {
	t.Helper()
	name := os.Getenv(findingsEnvironment)
	if name == "" {
		return
	}
	if err := AppendFinding(name, finding); err != nil {
		t.Error(err)
	}
}

// AppendFinding adds a measurement to a file of findings.
func AppendFinding(name string, finding Finding) error {
	line, err := json.Marshal(finding)
	if err != nil {
		return err
	}
	appending.Lock()
	defer appending.Unlock()
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644) // #nosec G302 -- a record that people read
	if err != nil {
		return err
	}
	_, err = file.Write(append(line, '\n'))
	return errors.Join(err, file.Close())
}

// Environment returns the environment variables that the runner sets for soak tests, with the file for findings and the
// seed.
func Environment(findings string, seed uint64) []string {
	return []string{
		enabledEnvironment + "=1",
		findingsEnvironment + "=" + findings,
		seedEnvironment + "=" + strconv.FormatUint(seed, 10),
	}
}
