package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

// writePage writes docs/soak.md from the records.
func writePage(now time.Time) error {
	var text strings.Builder
	text.WriteString("# The soak\n\n" +
		"`make soak` runs what needs real time, by part, and writes this page from the records in `docs/soak`. `make soak PARTS=\"detect chaos\"`\n" +
		"runs some parts, `make soak MISSING=1` only the tests that have no pass yet, and `make soak TESTS=REGEXP` only those whose\n" +
		"names match. A part passes, fails or is inconclusive; what is inconclusive is repeated up to three times, what failed\n" +
		"never is. The last pass of a part is that of its oldest test.\n" +
		"[Design note 0031](design/0031-soak.md) says why each test is here.\n\n")
	fmt.Fprintf(&text, "Ages are of %s.\n\n", now.UTC().Format(time.DateOnly))
	text.WriteString("| part | shows | last run | took | load before and after | last pass |\n| --- | --- | --- | --- | --- | --- |\n")
	var details strings.Builder
	for _, p := range parts {
		r, err := readRecord(p.name)
		if errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintf(&text, "| %s | %s | never | | | never |\n", p.name, p.what)
			continue
		}
		if err != nil {
			return err
		}
		last := "never"
		if r.LastPass != nil {
			last = fmt.Sprintf("%s, %.0f days ago, on %s", r.LastPass.At.Format(time.DateOnly), now.Sub(r.LastPass.At).Hours()/24, r.LastPass.Commit)
			if r.LastPass.Commit != r.Commit {
				last += " and newer"
			}
		}
		if r.wanted, err = p.tests(); err != nil {
			return err
		}
		passed := len(r.wanted) - len(r.missing(time.Time{}))
		fmt.Fprintf(&text, "| %s | %s | %s on %s, %d of %d tests passed | %s | %s, %s | %s |\n", p.name, p.what, r.Verdict, r.StartedAt.Format(time.DateOnly), passed, len(r.wanted),
			time.Duration(r.seconds()*float64(time.Second)).Round(time.Second), r.LoadBefore, r.LoadAfter, last)
		describe(&details, r)
		if p.name == performancePart {
			if err := writePerformance(r); err != nil {
				return err
			}
		}
	}
	return os.WriteFile(page, []byte(text.String()+details.String()), 0o644)
}

const (
	// performancePart is the part whose rows form the table in performancePage.
	performancePart = "performance"
	performancePage = "docs/performance.md"
	// The table is between these lines.
	tableBegins, tableEnds = "<!-- table by make bench -->\n", "<!-- end of the table -->\n"
)

// writePerformance replaces the table in performancePage.
func writePerformance(r *record) error {
	content, err := os.ReadFile(performancePage)
	if err != nil {
		return err
	}
	before, rest, begins := strings.Cut(string(content), tableBegins)
	_, after, ends := strings.Cut(rest, tableEnds)
	if !begins || !ends {
		return fmt.Errorf("%s has no lines %q and %q", performancePage, tableBegins, tableEnds)
	}
	return os.WriteFile(performancePage, []byte(before+tableBegins+performanceTable(r)+tableEnds+after), 0o644)
}

// performanceTable returns the rows of a record as a table, after a line with the machine and the date.
func performanceTable(r *record) string {
	var text strings.Builder
	commits := "commit " + r.Commit
	if oldest := r.oldest(); len(r.Tests) > 0 && oldest.Commit != r.Commit {
		commits = fmt.Sprintf("commits %s (%s) to %s", oldest.Commit, oldest.At.Format(time.DateOnly), r.Commit)
	}
	fmt.Fprintf(&text, "Measured on %s on %d CPUs (Linux %s, %s), %s, load %s before and %s after.\n\n"+
		"| figure | storagebench | compared with | which measured | bound |\n| --- | --- | --- | --- | --- |\n",
		r.StartedAt.Format(time.DateOnly), r.CPUs, r.Kernel, r.Go, commits, r.LoadBefore, r.LoadAfter)
	for _, one := range r.Findings {
		if one.Row == nil {
			continue
		}
		bound := one.Row.Bound
		if bound != "" && !one.Row.Met {
			bound += ": **missed**"
		} else if bound != "" {
			bound += ": met"
		}
		fmt.Fprintf(&text, "| %s | %s | %s | %s | %s |\n", one.Title, one.Row.Ours, one.Row.Versus, one.Row.Control, bound)
	}
	return text.String()
}

// describe writes the section of a part: the environment, the tests that did not pass, and the findings.
func describe(to *strings.Builder, r *record) {
	fmt.Fprintf(to, "\n## %s\n\n%d CPUs, Linux %s, %s, seed %d, commit %s.\n", r.Part, r.CPUs, r.Kernel, r.Go, r.Seed, r.Commit)
	for _, one := range r.Tests {
		if one.Verdict == fail || one.Verdict == inconclusive {
			fmt.Fprintf(to, "\n%s: %s %s\n\n```text\n%s\n```\n", one.Verdict, one.Package, one.Name, one.Reason)
		}
	}
	for _, one := range r.Findings {
		if one.Row != nil {
			continue // performancePage shows it
		}
		fmt.Fprintf(to, "\n### %s\n\n```text\n%s\n```\n", one.Title, strings.TrimRight(one.Text, "\n"))
	}
}
