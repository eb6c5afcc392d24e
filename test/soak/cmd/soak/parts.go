package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// part is a set of soak tests that are run and recorded together.
type part struct {
	name string
	// what describes what the part shows, for readers of the page.
	what string
	// packages lists the folders of the tests. In folders outside of test/soak, only the files *_soak_test.go belong to
	// the part.
	packages []string
	// files, if set, are the only files of the packages that belong to the part. They then belong to no other part.
	files   []string
	timeout time.Duration
	// environment holds additional environment variables for the tests.
	environment []string
	// If cluster is true, an embedded cluster stays up for all packages of the part. If audited is true, their tests
	// together use all permissions of the operator, which the tests check.
	cluster, audited bool
	// If fuzz is true, the part is all fuzz tests of the module, and each of them fuzzes for fuzzTime.
	fuzz bool
}

// parts lists the parts in run order: short ones first.
var parts = []part{
	{name: "detect", what: "error rates of the detection of bursts, levels, knees and regressions on simulated series, and what it costs",
		packages: []string{"./internal/detect"}, timeout: 2 * time.Hour},
	{name: "faults", what: "faults seeded into the product, each caught by the layer that should, and the longest scenarios in virtual time",
		packages: []string{"./test/soak/faults", "./test/sim"}, timeout: time.Hour},
	{name: "decisions", what: "a million random runs against the rules of decisions, an operator that dies after each of its writes, a month of nightly runs, and objects damaged at random",
		packages: []string{"./internal/decide", "./controllers/storagebenchmark", "./test/nightly", "./test/integration"}, timeout: time.Hour},
	{name: "agent", what: "agents with real tools against real time: samples of slow stores, files of others, MPI",
		packages: []string{"./internal/agent"}, timeout: time.Hour},
	{name: "burstfs", what: "bare fio on the simulated stores: that they give the rates that they are configured to",
		packages: []string{"./test/burstfs"}, timeout: time.Hour},
	{name: "chaos", what: "parts of local runs that are killed at random moments",
		packages: []string{"./test/soak/chaos"}, timeout: time.Hour},
	{name: "local", what: "local runs in real time on stores with a record: scenarios, plans, transitions, comparisons",
		packages: []string{"./test/soak/local"}, timeout: 3 * time.Hour},
	{name: "scale", what: "the operator beside thousands of agents on an API server: what it costs, that it counts each sample once, crowds, history, hostile agents",
		packages: []string{"./test/scale"}, timeout: 3 * time.Hour},
	{name: performancePart, what: "what storagebench costs, beside bare fio, bare pods and Jobs: the table of `docs/performance.md`",
		packages: []string{"./test/e2e", "./test/browser", "./test/soak/performance"},
		files:    []string{"overhead_test.go", "results_test.go", "report_soak_test.go", "skew_soak_test.go", "timeline_soak_test.go", "dead_time_soak_test.go"},
		timeout:  2 * time.Hour, cluster: true},
	{name: "lab", what: "virtual machines with real kernels: SMB, NFS, disks that QEMU throttles, faults of disks and networks",
		packages: []string{"./test/soak/lab"}, timeout: 4 * time.Hour},
	{name: "release", what: "the chart against all Kubernetes releases, and a release of four platforms, made twice",
		packages: []string{"./test/chart", "./test/release"}, timeout: 2 * time.Hour},
	{name: "cluster", what: "the operator in a real cluster: times, failures, losses, deletions, twins of real systems, rights by the audit log; the embedded cluster itself, whose parts are killed",
		packages: []string{"./test/e2e", "./test/cluster"}, timeout: 5 * time.Hour, cluster: true, audited: true},
	{name: "fuzz", what: "each fuzz test of the module, " + fuzzTime.String() + " with one worker", fuzz: true},
	{name: "schedules", what: "five hundred runs on three nodes, each disturbed at random moments: kills, deletions, broken stores, upgrades; `docs/soak/schedules.csv` has a line for each",
		packages: []string{"./test/e2e"}, files: []string{"schedules_soak_test.go"}, timeout: 24 * time.Hour, cluster: true},
}

// choose returns the named parts in the order of the table, or all parts if no names are given.
func choose(names []string) ([]part, error) {
	if len(names) == 0 {
		return parts, nil
	}
	var chosen []part
	for _, p := range parts {
		if slices.Contains(names, p.name) {
			chosen = append(chosen, p)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(parts, func(p part) bool { return p.name == name }) {
			var known []string
			for _, p := range parts {
				known = append(known, p.name)
			}
			return nil, fmt.Errorf("unknown part %q; the parts are %s", name, strings.Join(known, ", "))
		}
	}
	return chosen, nil
}

// fuzzFunction matches the fuzz tests of a file.
var fuzzFunction = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(\w+ \*testing\.F\)`)

var testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)

// soakFiles returns a glob pattern for the files in a folder that contain soak tests.
func soakFiles(folder string) string {
	if strings.HasPrefix(folder, "./test/soak/") {
		return "*_test.go"
	}
	return "*_soak_test.go"
}

// testName identifies a test function by its package, without the module's path, and its name.
type testName struct {
	Package string `json:"package"`
	Name    string `json:"name"`
}

// tests returns the soak tests of a part, from the source files.
func (p part) tests() (found []testName, err error) {
	if p.fuzz {
		return fuzzTests()
	}
	for _, folder := range p.packages {
		matches, err := filepath.Glob(filepath.Join(folder, soakFiles(folder)))
		if err != nil {
			return nil, err
		}
		for _, file := range matches {
			if !p.owns(filepath.Base(file)) {
				continue
			}
			functions, err := functionsOf(file, testFunction)
			if err != nil {
				return nil, err
			}
			found = append(found, functions...)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("there is no soak test in %s", strings.Join(p.packages, ", "))
	}
	return found, nil
}

// fuzzTests returns the fuzz tests of the module.
func fuzzTests() (found []testName, err error) {
	err = filepath.WalkDir(".", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		functions, err := functionsOf(file, fuzzFunction)
		found = append(found, functions...)
		return err
	})
	return found, err
}

// functionsOf returns the tests of a file whose declarations match.
func functionsOf(file string, declaration *regexp.Regexp) (found []testName, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("find the tests: %w", err)
	}
	for _, function := range declaration.FindAllSubmatch(text, -1) {
		found = append(found, testName{filepath.ToSlash(filepath.Clean(filepath.Dir(file))), string(function[1])})
	}
	return found, nil
}

// matching returns the soak tests of a part whose names match.
func (p part) matching(names *regexp.Regexp) ([]testName, error) {
	tests, err := p.tests()
	return slices.DeleteFunc(tests, func(one testName) bool { return !names.MatchString(one.Name) }), err
}

// owns reports whether a file of the part's packages belongs to the part.
func (p part) owns(file string) bool {
	if len(p.files) > 0 {
		return slices.Contains(p.files, file)
	}
	return !slices.ContainsFunc(parts, func(other part) bool { return slices.Contains(other.files, file) })
}

// pattern returns a regular expression for the -run flag of `go test` that selects the tests, or "" if there are none.
func pattern(tests []testName) string {
	if len(tests) == 0 {
		return ""
	}
	var names []string
	for _, one := range tests {
		names = append(names, one.Name)
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

// packagesOf returns the folders of the tests without duplicates, in the form that `go test` expects.
func packagesOf(tests []testName) (folders []string) {
	for _, one := range tests {
		if folder := "./" + one.Package; !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	return folders
}
