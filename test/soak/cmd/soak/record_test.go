package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/test/binaries"
	"github.com/storagebench/storagebench/test/soak"
)

var testA, testB = testName{"p", "TestA"}, testName{"p", "TestB"}

// attempt records the events of one run of two tests. The second test has two subtests: one passes, the other ends with
// the given action and output.
func attempt(t *testing.T, r *record, number int, action, output string) {
	t.Helper()
	whole := action
	if action == "skip" {
		whole = "pass"
	}
	events := `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA","Elapsed":1}
{"Action":"pass","Package":"p","Test":"TestB/one","Elapsed":1}
{"Action":"output","Package":"p","Test":"TestB/two","Output":"` + output + `\n"}
{"Action":"` + action + `","Package":"p","Test":"TestB/two","Elapsed":2}
{"Action":"` + whole + `","Package":"p","Test":"TestB","Elapsed":3}
{"Action":"` + whole + `","Package":"p","Elapsed":4}
`
	take(t, r, number, events)
}

func take(t *testing.T, r *record, number int, events string) {
	t.Helper()
	err := readEvents(strings.NewReader(events), func(function testName, tests []test) error {
		r.take(function, tests, number)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// begun returns a record of two tests that starts on the given day.
func begun(day int) *record {
	return &record{wanted: []testName{testA, testB}, Commit: fmt.Sprint("commit-", day), StartedAt: time.Date(2000, 1, day, 0, 0, 0, 0, time.UTC)}
}

func TestVerdicts(t *testing.T) {
	const busy = "    a_test.go:1: inconclusive: the control is 1.4 of itself"
	for _, c := range []struct {
		name, action, output string
		want                 verdict
		again                string
	}{
		{"pass", "pass", "fine", pass, ""},
		{"fail", "fail", "a figure is wrong", fail, ""},
		{"fail after a doubt", "fail", busy, fail, ""},
		{"inconclusive", "skip", busy, inconclusive, "^(TestB)$"},
		{"not for this machine", "skip", "a_test.go:1: no arm64", pass, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := begun(1)
			attempt(t, r, 1, c.action, c.output)
			if got := r.judge(); got != c.want {
				t.Errorf("the verdict is %s, want %s", got, c.want)
			}
			if got := pattern(r.inconclusiveTests()); got != c.again {
				t.Errorf("%q is run again, want %q", got, c.again)
			}
		})
	}
}

func TestARepeatedTestCountsAsItEnded(t *testing.T) {
	r := begun(1)
	attempt(t, r, 1, "skip", "inconclusive: busy")
	attempt(t, r, 2, "pass", "")
	if got := r.judge(); got != pass {
		t.Errorf("the verdict is %s, want pass", got)
	}
	if len(r.Tests) != 4 || r.Tests[3].Attempts != 2 {
		t.Errorf("the tests are %+v, want four, the last of attempt 2", r.Tests)
	}
}

// TestWhatFailedStaysFailed checks that a failed subtest stays failed if it passes when an inconclusive subtest of the
// same test makes it run again.
func TestWhatFailedStaysFailed(t *testing.T) {
	r := begun(1)
	attempt(t, r, 1, "fail", "a figure is wrong")
	attempt(t, r, 2, "pass", "")
	if got := r.judge(); got != fail {
		t.Errorf("the verdict is %s, want fail", got)
	}
}

func TestNothingRanIsNoPass(t *testing.T) {
	if got := begun(1).judge(); got != inconclusive {
		t.Errorf("the verdict is %s, want inconclusive", got)
	}
}

// TestPieceByPiece checks that an interrupted part and a part with a failure continue with the tests that have not
// passed. The part passes when all of its tests have passed; its last pass is then that of the oldest run.
func TestPieceByPiece(t *testing.T) {
	t.Chdir(t.TempDir())
	first := begun(1)
	first.Part = "parts"
	take(t, first, 1, `{"Action":"pass","Package":"p","Test":"TestA","Elapsed":1}`)
	next := func(r *record, day int, want verdict, missing ...testName) *record {
		t.Helper()
		if err := r.write(); err != nil {
			t.Fatal(err)
		}
		if r.Verdict != want {
			t.Errorf("the verdict is %s, want %s", r.Verdict, want)
		}
		again, err := newRecord("parts", r.wanted, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := again.missing(first.StartedAt); !slices.Equal(got, missing) {
			t.Errorf("missing are %v, want %v", got, missing)
		}
		if got := again.missing(time.Now()); !slices.Equal(got, r.wanted) {
			t.Errorf("without earlier runs, %v are missing, want all", got)
		}
		again.Commit, again.StartedAt = begun(day).Commit, begun(day).StartedAt
		return again
	}
	second := next(first, 2, inconclusive, testB)
	take(t, second, 1, `{"Action":"fail","Package":"p","Test":"TestB","Elapsed":1}`)
	third := next(second, 3, fail, testB)
	take(t, third, 1, `{"Action":"pass","Package":"p","Test":"TestB","Elapsed":1}
{"Action":"output","Package":"p","Output":"the operator has rights that it does not use\n"}
{"Action":"fail","Package":"p","Elapsed":9}`)
	fourth := next(third, 4, fail, testA, testB)
	take(t, fourth, 1, `{"Action":"pass","Package":"p","Test":"TestB","Elapsed":1}
{"Action":"pass","Package":"p","Elapsed":9}`)
	next(fourth, 5, pass)
	if got := fourth.LastPass; got == nil || got.Commit != "commit-1" {
		t.Errorf("the last pass is %+v, want that of the first commit", got)
	}
}

// TestCommit checks that records do not make a commit dirty: a run of several parts writes them.
func TestCommit(t *testing.T) {
	t.Chdir(t.TempDir())
	git := func(arguments ...string) string {
		t.Helper()
		output, err := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, arguments...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v: %s", arguments[0], err, output)
		}
		return strings.TrimSpace(string(output))
	}
	write := func(name string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("text"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "--quiet")
	if got := commit(); got != "" {
		t.Errorf("commit is %q before the first one, want none", got)
	}
	git("commit", "--quiet", "--allow-empty", "--message", "first")
	head := git("rev-parse", "--short=12", "HEAD")
	write(filepath.Join(recordFolder, "detect.json"))
	write(page)
	if got := commit(); got != head {
		t.Errorf("commit is %q beside new records, want %q", got, head)
	}
	write("internal/p/testdata/fuzz/FuzzP/0a1b")
	if got := commit(); got != head {
		t.Errorf("commit is %q beside an input of a fuzz test, want %q", got, head)
	}
	write("code.go")
	if got := commit(); got != head+"-dirty" {
		t.Errorf("commit is %q beside a new file, want %q", got, head+"-dirty")
	}
}

func TestUnknownPart(t *testing.T) {
	_, err := choose([]string{"detect", "nosuch"})
	if err == nil || !strings.Contains(err.Error(), `unknown part "nosuch"; the parts are `) {
		t.Errorf("the error is %v", err)
	}
}

// TestMatching checks that TESTS selects tests by name, and that an expression that matches none is an error and not a
// pass.
func TestMatching(t *testing.T) {
	t.Chdir("../../../..")
	lab, err := choose([]string{"lab"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := lab[0].matching(regexp.MustCompile("^TestS(MB|CSIDisks)$"))
	const folder = "test/soak/lab"
	if want := []testName{{folder, "TestSCSIDisks"}, {folder, "TestSMB"}}; err != nil || !sameTests(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	err = runParts(t.Context(), []string{"lab"}, regexp.MustCompile("nosuch"), 1, time.Now())
	if err == nil || err.Error() != `no test of these parts matches "nosuch"` {
		t.Errorf("the error is %v", err)
	}
}

// sameTests compares two lists of tests, regardless of their order.
func sameTests(a, b []testName) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(one testName) bool { return !slices.Contains(b, one) })
}

// TestPartsHaveAllSoakTests checks that each part has tests, and that each file with soak tests belongs to a part:
// otherwise, its tests would never run. The pattern that selects a part's tests must not match other tests in its
// packages.
func TestPartsHaveAllSoakTests(t *testing.T) {
	t.Chdir("../../../..")
	known := map[string]bool{}
	for _, p := range parts {
		tests, err := p.tests()
		if err != nil {
			t.Errorf("part %s: %v", p.name, err)
		}
		selected := regexp.MustCompile(pattern(tests))
		for _, folder := range p.packages {
			known[filepath.Clean(folder)] = true
			for _, file := range files(t, folder, "*_test.go") {
				if slices.Contains(files(t, folder, soakFiles(folder)), file) {
					continue
				}
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				for _, found := range testFunction.FindAllSubmatch(text, -1) {
					if selected.Match(found[1]) {
						t.Errorf("part %s: %s of %s is not a soak test, but has the name of one", p.name, found[1], file)
					}
				}
			}
		}
	}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		folder := filepath.Dir(path)
		if soaks := strings.HasSuffix(path, "_soak_test.go") ||
			strings.HasPrefix(path, "test/soak/") && strings.HasSuffix(path, "_test.go") && !strings.HasPrefix(path, "test/soak/cmd/"); soaks && !known[folder] {
			t.Errorf("%s is in no part", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func files(t *testing.T, folder, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(folder, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestPerformanceTable checks that the table has each row, with the verdict on its bound, and no other finding.
func TestPerformanceTable(t *testing.T) {
	r := begun(3)
	r.CPUs, r.Kernel, r.Go, r.LoadBefore, r.LoadAfter = 2, "6.18", "go1.26", "0.1", "0.9"
	r.Findings = []soak.Finding{
		{Title: "text", Text: "not in the table"},
		{Title: "skew", Row: &soak.Row{Ours: "2 ms", Control: "1 ms", Versus: "bare fio", Bound: "at most 1.5 times", Met: false}},
		{Title: "delay", Row: &soak.Row{Ours: "5 ms", Control: "4 ms", Versus: "a bare pod", Bound: "at most 9 ms", Met: true}},
		{Title: "merge", Row: &soak.Row{Ours: "7 ms"}},
	}
	want := `Measured on 2000-01-03 on 2 CPUs (Linux 6.18, go1.26), commit commit-3, load 0.1 before and 0.9 after.

| figure | storagebench | compared with | which measured | bound |
| --- | --- | --- | --- | --- |
| skew | 2 ms | bare fio | 1 ms | at most 1.5 times: **missed** |
| delay | 5 ms | a bare pod | 4 ms | at most 9 ms: met |
| merge | 7 ms |  |  |  |
`
	if got := performanceTable(r); got != want {
		t.Errorf("the table is\n%s", got)
	}
}

// TestFuzz checks that all fuzz tests of the module are found, and that the verdict on a fuzz test follows from the
// output of go test.
func TestFuzz(t *testing.T) {
	root, err := binaries.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(root)
	tests, err := fuzzTests()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []testName{{"internal/series", "FuzzDecode"}, {"internal/admission", "FuzzDecode"}, {"internal/cli", "FuzzInputs"}} {
		if !slices.Contains(tests, one) {
			t.Errorf("%v is not among %v", one, tests)
		}
	}
	const done = "fuzz: elapsed: 30m0s, execs: 1234 (1/sec), new interesting: 5 (total: 20)"
	for output, want := range map[string]verdict{
		"fuzz: elapsed: 0s, gathering baseline coverage: 0/5 completed\n" + done + "\nPASS\nok  \tp\t1800.1s\n": pass,
		done + "\n--- FAIL: FuzzDecode (3.00s)\nFAIL\nexit status 1\nFAIL\tp\t3.1s\n":                           fail,
		"ok  \tp\t0.1s [no tests to run]\n": fail, // It did not fuzz.
		"":                                  fail,
		done + "\n--- FAIL: FuzzDecode (1800.10s)\n    context deadline exceeded\nFAIL\n": inconclusive,
	} {
		if got := judgeFuzz(testName{"p", "FuzzDecode"}, output); got.Verdict != want {
			t.Errorf("%q is judged %s, not %s", output, got.Verdict, want)
		}
	}
	if got := progress(done + "\nPASS\n"); got != done {
		t.Errorf("the progress is %q", got)
	}
}

// TestFailureOutside checks that all tests of a package are missing after a failure outside of its tests, but none of
// those that have passed is unsettled.
func TestFailureOutside(t *testing.T) {
	r := begun(3)
	r.wanted = []testName{testA, testB}
	r.take(testA, []test{{testName: testA, Verdict: pass}}, 1)
	r.take(testName{"p", outside}, []test{{testName: testName{"p", outside}, Verdict: fail}}, 1)
	if missing, unsettled := r.missing(time.Time{}), r.unsettled(time.Time{}); !slices.Equal(missing, []testName{testA, testB}) || !slices.Equal(unsettled, []testName{testB}) {
		t.Errorf("missing %v, unsettled %v", missing, unsettled)
	}
}
