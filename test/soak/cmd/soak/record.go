package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/storagebench/storagebench/test/soak"
)

type verdict string

const (
	pass         verdict = "pass"
	fail         verdict = "fail"
	inconclusive verdict = "inconclusive"
	// skipped is a test that does not apply to this machine.
	skipped verdict = "skipped"
)

// recordFolder holds one file a part.
const recordFolder = "docs/soak"

// page is made from the records.
const page = "docs/soak.md"

// record is the last run of a part, as docs/soak/PART.json keeps it.
type record struct {
	Part    string  `json:"part"`
	Verdict verdict `json:"verdict"`
	// Commit that was tested; "-dirty" follows where files differed from it.
	Commit    string    `json:"commit"`
	StartedAt time.Time `json:"startedAt"`
	Seconds   float64   `json:"seconds"`
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
}

// lastPass is when and on what the part passed last.
type lastPass struct {
	Commit string    `json:"commit"`
	At     time.Time `json:"at"`
}

// test is how a test, or part of one, ended.
type test struct {
	Package  string  `json:"package"`
	Name     string  `json:"name"`
	Verdict  verdict `json:"verdict"`
	Seconds  float64 `json:"seconds"`
	Attempts int     `json:"attempts"`
	Reason   string  `json:"reason,omitempty"`
}

func newRecord(name string, seed uint64) *record {
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return &record{Part: name, Commit: commit(), StartedAt: time.Now().UTC().Truncate(time.Second), Seed: seed,
		CPUs: runtime.NumCPU(), Kernel: strings.TrimSpace(string(kernel)), Go: runtime.Version(), LoadBefore: load()}
}

// commit names what is checked out; empty outside of a repository. The records of other parts, which a run of several parts
// writes, are no change of what is tested.
func commit() string {
	name, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return ""
	}
	changed, err := exec.Command("git", "status", "--porcelain", "--", ".", ":!"+recordFolder, ":!"+page).Output()
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

// merge takes the results of an attempt: the newest counts.
func (r *record) merge(tests []test, attempt int) {
	for _, one := range tests {
		one.Attempts = attempt
		known := false
		for i := range r.Tests {
			if r.Tests[i].Package != one.Package || r.Tests[i].Name != one.Name {
				continue
			}
			known = true
			// A test that failed is run again only with a part of the same test that was inconclusive. It has failed.
			if r.Tests[i].Verdict != fail {
				r.Tests[i] = one
			}
		}
		if !known {
			r.Tests = append(r.Tests, one)
		}
	}
}

// inconclusivePattern selects the tests that were inconclusive; empty where none was.
func (r *record) inconclusivePattern() string {
	var patterns []string
	for _, one := range r.Tests {
		if one.Verdict != inconclusive {
			continue
		}
		top, _, _ := strings.Cut(one.Name, "/")
		patterns = append(patterns, "^"+regexp.QuoteMeta(top)+"$")
	}
	return strings.Join(patterns, "|")
}

// close judges the part, and takes its last pass from the record before.
func (r *record) close() {
	r.Seconds = time.Since(r.StartedAt).Seconds()
	r.LoadAfter = load()
	r.Verdict = r.judge()
	if r.Verdict == pass {
		r.LastPass = &lastPass{Commit: r.Commit, At: r.StartedAt}
		return
	}
	if before, err := readRecord(r.Part); err == nil {
		r.LastPass = before.LastPass
	}
}

// judge is fail where a test failed, inconclusive where one was or none ran, and else pass.
func (r *record) judge() verdict {
	found := inconclusive
	for _, one := range r.Tests {
		if one.Verdict == fail {
			return fail
		}
		if one.Verdict == pass {
			found = pass
		}
	}
	for _, one := range r.Tests {
		if one.Verdict == inconclusive {
			return inconclusive
		}
	}
	return found
}

func (r *record) readFindings(name string) error {
	content, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("read the findings: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(content))
	lines.Buffer(nil, 16<<20)
	byTitle := map[string]int{}
	for lines.Scan() {
		var one soak.Finding
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return fmt.Errorf("read the findings: %w", err)
		}
		// A repeated test reports again.
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

func (r *record) write() error {
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

// status prints how old the last pass of each part is, and fails where one is older than that or there is none.
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
