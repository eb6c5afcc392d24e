// Command testsummary prints the slowest packages and tests of a test run, and how many tests passed, failed or were
// skipped. It reads the output of go test -json from files:
//
//	go run ./hack/testsummary EVENTS...
//
// Its last line is "N passed, N failed, N skipped". It exits with 1 if anything failed.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/storagebench/storagebench/hack/testevents"
)

// timing is the duration and verdict of a package or test.
type timing struct {
	name    string
	verdict string
	seconds float64
}

type summary struct {
	packages, tests         []timing
	passed, failed, skipped int
}

func main() {
	packages := flag.Int("packages", 15, "number of packages to list")
	tests := flag.Int("tests", 25, "number of tests to list")
	flag.Parse()
	var s summary
	for _, name := range flag.Args() {
		if err := s.readFile(name); err != nil {
			_, _ = fmt.Fprintf(os.Stderr, "error: %v\n", err)
			os.Exit(1)
		}
	}
	s.print(os.Stdout, *packages, *tests)
	if s.failed > 0 {
		os.Exit(1)
	}
}

func (s *summary) readFile(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("read the events of the tests: %w", err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	if err := testevents.Read(file, s.add); err != nil {
		return fmt.Errorf("read the events of %s: %w", name, err)
	}
	return nil
}

func (s *summary) add(e testevents.Event) {
	if !e.Ends() {
		return
	}
	one := timing{name: e.Package, verdict: e.Action, seconds: e.Elapsed}
	if e.Test == "" {
		s.packages = append(s.packages, one)
		return
	}
	switch e.Action {
	case "pass":
		s.passed++
	case "fail":
		s.failed++
	case "skip":
		s.skipped++
	}
	// List only top-level tests, because the time of a test includes the time of its subtests.
	if !strings.Contains(e.Test, "/") {
		one.name += " " + e.Test
		s.tests = append(s.tests, one)
	}
}

func (s *summary) print(to io.Writer, packages, tests int) {
	s.failPackagesWithoutTests()
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for _, part := range []struct {
		title string
		rows  []timing
		most  int
	}{{"Slowest packages", s.packages, packages}, {"Slowest tests", s.tests, tests}} {
		_, _ = fmt.Fprintf(table, "\n%s:\n", part.title)
		slices.SortStableFunc(part.rows, func(a, b timing) int { return cmp.Compare(b.seconds, a.seconds) })
		for _, row := range part.rows[:min(part.most, len(part.rows))] {
			_, _ = fmt.Fprintf(table, "%8.1f s\t%s\t%s\n", row.seconds, row.verdict, row.name)
		}
	}
	_ = table.Flush()
	for _, row := range s.tests {
		if row.verdict == "fail" {
			_, _ = fmt.Fprintf(to, "FAILED: %s\n", row.name)
		}
	}
	_, _ = fmt.Fprintf(to, "%d passed, %d failed, %d skipped\n", s.passed, s.failed, s.skipped)
}

// failPackagesWithoutTests counts one failure for each failed package in which no test failed: either the package did
// not build, or it crashed.
func (s *summary) failPackagesWithoutTests() {
	for _, pkg := range s.packages {
		if pkg.verdict != "fail" {
			continue
		}
		own := func(t timing) bool { return t.verdict == "fail" && strings.HasPrefix(t.name, pkg.name+" ") }
		if !slices.ContainsFunc(s.tests, own) {
			s.failed++
			s.tests = append(s.tests, timing{name: pkg.name + " (outside of its tests)", verdict: "fail"})
		}
	}
}
