package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/storagebench/storagebench/test/soak"
)

type verdict string

const (
	pass         verdict = "pass"
	fail         verdict = "fail"
	inconclusive verdict = "inconclusive"
	// skipped is the verdict on a test that does not apply to this machine.
	skipped verdict = "skipped"
)

// recordFolder contains one file per part.
const recordFolder = "docs/soak"

// page is the page that is generated from the records.
const page = "docs/soak.md"

// record is the content of docs/soak/PART.json: the last run of a part, and the newest verdict on each of its tests.
// The verdicts can come from several runs, because a run may be interrupted or run only some tests.
type record struct {
	Part    string  `json:"part"`
	Verdict verdict `json:"verdict"`
	// Commit is the commit that was tested last, followed by "-dirty" if files differed from it.
	Commit    string    `json:"commit"`
	StartedAt time.Time `json:"startedAt"`
	Seed      uint64    `json:"seed"`
	CPUs      int       `json:"cpus"`
	Kernel    string    `json:"kernel"`
	Go        string    `json:"go"`
	// LoadBefore and LoadAfter are the load averages over one minute.
	LoadBefore string         `json:"loadBefore"`
	LoadAfter  string         `json:"loadAfter"`
	Tests      []test         `json:"tests"`
	Findings   []soak.Finding `json:"findings,omitempty"`
	LastPass   *lastPass      `json:"lastPass,omitempty"`

	// wanted lists the tests that the part has now.
	wanted []testName
}

// lastPass is the time and commit of the part's last pass: of the oldest run from which the part has a verdict.
type lastPass struct {
	Commit string    `json:"commit"`
	At     time.Time `json:"at"`
}

// test is the outcome of a test or subtest.
type test struct {
	testName

	Verdict  verdict   `json:"verdict"`
	Seconds  float64   `json:"seconds"`
	Attempts int       `json:"attempts"`
	Commit   string    `json:"commit"`
	At       time.Time `json:"at"`
	Reason   string    `json:"reason,omitempty"`
}

// outside is the name for a failure of a package outside of its tests, such as a compile error or a failure of
// TestMain.
const outside = "(outside of any test)"

// function returns the test function to which a test or subtest belongs.
func (t testName) function() testName {
	t.Name, _, _ = strings.Cut(t.Name, "/")
	return t
}

// reported reports whether a finding belongs to a test function.
func reported(finding soak.Finding, function testName) bool {
	return testName{Name: finding.Test}.function().Name == function.Name && (finding.Package == "" || finding.Package == function.Package)
}

// newRecord returns the record for a new run of a part. It keeps the verdicts of earlier runs until the tests have run
// again.
func newRecord(name string, wanted []testName, seed uint64) (*record, error) {
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	r := &record{Part: name, Commit: commit(), StartedAt: time.Now().UTC().Truncate(time.Second), Seed: seed, wanted: wanted,
		CPUs: runtime.NumCPU(), Kernel: strings.TrimSpace(string(kernel)), Go: runtime.Version(), LoadBefore: load()}
	before, err := readRecord(name)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	r.LastPass, r.Findings = before.LastPass, before.Findings
	for _, one := range before.Tests {
		if one.Name == outside || slices.Contains(wanted, one.function()) {
			r.Tests = append(r.Tests, one)
		}
	}
	r.Findings = slices.DeleteFunc(r.Findings, func(one soak.Finding) bool {
		return !slices.ContainsFunc(wanted, func(w testName) bool { return reported(one, w) })
	})
	return r, nil
}

// commit returns the checked-out commit, or "" outside of a repository. It ignores changes of records, because each
// part of a run writes its record, and inputs that fuzz tests have kept. Neither affects the soak tests.
func commit() string {
	name, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return ""
	}
	changed, err := exec.Command("git", "status", "--porcelain", "--untracked-files=all", "--", ".", ":!*/testdata/fuzz/*", ":!"+recordFolder, ":!"+page, ":!"+performancePage).Output()
	if err != nil || len(changed) > 0 {
		return strings.TrimSpace(string(name)) + "-dirty"
	}
	return strings.TrimSpace(string(name))
}

func load() string {
	averages, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(averages), " ")
	return first
}

// take replaces the verdicts on a test function and its subtests. A subtest that failed in this run stays failed: it
// ran again only because another subtest of the same function was inconclusive.
func (r *record) take(function testName, tests []test, attempt int) {
	var kept []test
	for _, known := range r.Tests {
		if known.function() != function {
			kept = append(kept, known)
			continue
		}
		if known.Verdict == fail && known.At.Equal(r.StartedAt) && function.Name != outside {
			kept = append(kept, known)
			tests = slices.DeleteFunc(tests, func(one test) bool { return one.testName == known.testName })
		}
	}
	for _, one := range tests {
		one.Attempts, one.Commit, one.At = attempt, r.Commit, r.StartedAt
		kept = append(kept, one)
	}
	r.Tests = kept
	r.Findings = slices.DeleteFunc(r.Findings, func(one soak.Finding) bool { return reported(one, function) })
}

// verdicts returns the verdict on each test function that has run: the worst verdict of the function and its subtests.
func (r *record) verdicts() map[testName]verdict {
	worst := []verdict{skipped, pass, inconclusive, fail}
	found := map[testName]verdict{}
	for _, one := range r.Tests {
		function := one.function()
		if slices.Index(worst, one.Verdict) >= slices.Index(worst, found[function]) {
			found[function] = one.Verdict
		}
	}
	return found
}

// inconclusiveTests returns the tests of this run that were inconclusive.
func (r *record) inconclusiveTests() (tests []testName) {
	for _, one := range r.Tests {
		if function := one.function(); one.Verdict == inconclusive && one.At.Equal(r.StartedAt) && !slices.Contains(tests, function) {
			tests = append(tests, function)
		}
	}
	return tests
}

// missing returns the tests that have not passed since the given time, and all tests of a package that failed outside
// of its tests.
func (r *record) missing(since time.Time) (tests []testName) {
	verdicts := r.verdicts()
	unsettled := r.unsettled(since)
	for _, one := range r.wanted {
		if slices.Contains(unsettled, one) || verdicts[testName{one.Package, outside}] == fail {
			tests = append(tests, one)
		}
	}
	return tests
}

// unsettled returns the tests that have not passed since the given time.
func (r *record) unsettled(since time.Time) (tests []testName) {
	verdicts := r.verdicts()
	old := map[testName]bool{}
	for _, one := range r.Tests {
		old[one.function()] = old[one.function()] || one.At.Before(since)
	}
	for _, one := range r.wanted {
		if settled := verdicts[one] == pass || verdicts[one] == skipped; !settled || old[one] {
			tests = append(tests, one)
		}
	}
	return tests
}

// oldest returns the commit and time of the oldest verdict.
func (r *record) oldest() (found lastPass) {
	for _, one := range r.Tests {
		if found.At.IsZero() || one.At.Before(found.At) {
			found = lastPass{Commit: one.Commit, At: one.At}
		}
	}
	return found
}

// close sets the part's verdict, load average and last pass.
func (r *record) close() {
	r.LoadAfter = load()
	r.Verdict = r.judge()
	if r.Verdict == pass {
		oldest := r.oldest()
		r.LastPass = &oldest
	}
}

// judge returns fail if a test failed. It returns inconclusive if a test was inconclusive or has not run, or if no test
// applies to this machine. Otherwise it returns pass.
func (r *record) judge() verdict {
	verdicts := r.verdicts()
	all := slices.Collect(maps.Values(verdicts))
	notRun := slices.ContainsFunc(r.wanted, func(one testName) bool { return verdicts[one] == "" })
	switch {
	case slices.Contains(all, fail):
		return fail
	case notRun || slices.Contains(all, inconclusive) || !slices.Contains(all, pass):
		return inconclusive
	}
	return pass
}

// seconds returns the total duration of the test functions in seconds.
func (r *record) seconds() (sum float64) {
	for _, one := range r.Tests {
		if one.function() == one.testName {
			sum += one.Seconds
		}
	}
	return sum
}

func (r *record) readFindings(name string) error {
	content, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("read the findings: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(content))
	lines.Buffer(nil, 16<<20)
	byTitle := map[string]int{}
	for i, one := range r.Findings {
		byTitle[one.Test+one.Title] = i
	}
	for lines.Scan() {
		var one soak.Finding
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return fmt.Errorf("read the findings: %w", err)
		}
		// A repeated test reports its findings again.
		if at, known := byTitle[one.Test+one.Title]; known {
			r.Findings[at] = one
			continue
		}
		byTitle[one.Test+one.Title] = len(r.Findings)
		r.Findings = append(r.Findings, one)
	}
	return lines.Err()
}

func recordFile(name string) string { return filepath.Join(recordFolder, name+".json") }

// write sets the verdict of the part and writes its record.
func (r *record) write() error {
	r.close()
	content, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(recordFolder, 0o755); err != nil {
		return fmt.Errorf("make the folder of the records: %w", err)
	}
	return os.WriteFile(recordFile(r.Part), append(content, '\n'), 0o644)
}

func readRecord(name string) (*record, error) {
	content, err := os.ReadFile(recordFile(name))
	if err != nil {
		return nil, err
	}
	var r record
	if err := json.Unmarshal(content, &r); err != nil {
		return nil, fmt.Errorf("read %s: %w", recordFile(name), err)
	}
	return &r, nil
}

// status prints the age of each part's last pass. It returns an error if a part has never passed, has failed since, or
// passed longer ago than the given number of days.
func status(now time.Time, days int) error {
	var old []string
	for _, p := range parts {
		r, err := readRecord(p.name)
		switch {
		case errors.Is(err, fs.ErrNotExist) || err == nil && r.LastPass == nil:
			fmt.Printf("%-12s never passed\n", p.name)
			old = append(old, p.name)
			continue
		case err != nil:
			return err
		}
		age := now.Sub(r.LastPass.At)
		fmt.Printf("%-12s passed %3.0f days ago, on %s; last run: %s\n", p.name, age.Hours()/24, r.LastPass.Commit, r.Verdict)
		if r.Verdict == fail || age > time.Duration(days)*24*time.Hour {
			old = append(old, p.name)
		}
	}
	if len(old) > 0 {
		return fmt.Errorf("no pass within %d days, or a failure since: %s; run `make soak PARTS=%q`", days, strings.Join(old, ", "), strings.Join(old, " "))
	}
	return nil
}
