package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/storagebench/storagebench/hack/testevents"
	"github.com/storagebench/storagebench/test/soak"
	"github.com/storagebench/storagebench/test/standinior"
)

// mostAttempts is the maximum number of times that an inconclusive test is run.
const mostAttempts = 3

// run runs those of the given tests of a part that have not passed since passedSince, and repeats inconclusive tests.
// It writes the record after each test, so that an interrupted run loses nothing.
func (p part) run(ctx context.Context, tests []testName, seed uint64, passedSince time.Time) (*record, error) {
	findings, err := os.CreateTemp("", "soak-findings-")
	if err != nil {
		return nil, fmt.Errorf("make a file for findings: %w", err)
	}
	defer os.Remove(findings.Name()) //nolint:errcheck // in the folder for temporary files
	if err := findings.Close(); err != nil {
		return nil, err
	}
	wanted, err := p.tests()
	if err != nil {
		return nil, err
	}
	r, err := newRecord(p.name, wanted, seed)
	if err != nil {
		return nil, err
	}
	missing := r.missing(passedSince)
	tests = slices.DeleteFunc(slices.Clone(missing), func(one testName) bool { return !slices.Contains(tests, one) })
	if len(tests) == 0 {
		return r, nil
	}
	// A run clears a failure outside of the tests, so only the tests that have not passed themselves are left.
	completes := !slices.ContainsFunc(r.unsettled(time.Time{}), func(one testName) bool { return !slices.Contains(tests, one) })
	if p.cluster {
		end, err := clusterUp(ctx)
		if err != nil {
			return nil, err
		}
		defer end()
	}
	for attempt := 1; ; attempt++ {
		if p.audited && completes {
			// This run completes the part. At its end, test/e2e requires that the operator has used each of its permissions since
			// this time: the time of the oldest run with a verdict that still counts.
			began := r.StartedAt
			if len(tests) < len(r.wanted) {
				began = r.oldest().At
			}
			p.environment = append(p.environment, "E2E_AUDIT="+began.Format(time.RFC3339))
		}
		ended := func(function testName, results []test) error {
			if ctx.Err() == nil { // Otherwise, the test failed because of the interrupt.
				r.take(function, results, attempt)
				return errors.Join(r.readFindings(findings.Name()), r.write())
			}
			return nil
		}
		if p.fuzz {
			err = goFuzz(ctx, tests, findings.Name(), ended)
		} else {
			err = p.goTest(ctx, tests, findings.Name(), seed, ended)
		}
		if err != nil {
			return nil, err
		}
		tests = r.inconclusiveTests()
		if len(tests) == 0 || attempt == mostAttempts || ctx.Err() != nil {
			break
		}
		fmt.Printf("== %s: again, attempt %d: %s\n", p.name, attempt+1, pattern(tests))
	}
	return r, errors.Join(r.write(), ctx.Err())
}

// clusterUp starts the embedded cluster unless it is up, and returns a function that ends the cluster if clusterUp
// started it.
func clusterUp(ctx context.Context) (end func(), err error) {
	if exec.CommandContext(ctx, "go", "run", "./test/cluster/cmd/cluster", "status").Run() == nil {
		return func() {}, nil
	}
	up := exec.CommandContext(ctx, "go", "run", "./test/cluster/cmd/cluster", "up")
	up.Stdout, up.Stderr = os.Stdout, os.Stderr
	if err := up.Run(); err != nil {
		return nil, fmt.Errorf("start the cluster: %w", err)
	}
	return func() { _ = exec.Command("go", "run", "./test/cluster/cmd/cluster", "down").Run() }, nil
}

// goTest runs `go test` once, and calls ended with each test function and the results of the function and its subtests.
// A failed test is not an error of goTest.
func (p part) goTest(ctx context.Context, tests []testName, findings string, seed uint64, ended func(testName, []test) error) error {
	arguments := []string{"test", "-json", "-count=1", "-p=1", "-timeout", p.timeout.String(), "-run", pattern(tests)}
	environment := slices.Concat(realTools(), soak.Environment(findings, seed), p.environment)
	return runGo(ctx, append(arguments, packagesOf(tests)...), environment, func(output io.Reader) error { return readEvents(output, ended) })
}

// runGo runs the go command and passes its output to read. It ignores the exit status of the command.
func runGo(ctx context.Context, arguments, environment []string, read func(io.Reader) error) error {
	command := exec.CommandContext(ctx, "go", arguments...)
	// On an interrupt, all processes of the group receive the signal, because the go command does not pass it on to tests.
	// Tests then end the processes that they have started.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGINT) }
	command.WaitDelay = time.Minute
	command.Env = append(os.Environ(), environment...)
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("start go %s: %w", arguments[0], err)
	}
	readErr := read(output)
	err = command.Wait()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		return fmt.Errorf("run go %s: %w", arguments[0], err)
	}
	if readErr != nil {
		return fmt.Errorf("read the output of go %s: %w", arguments[0], readErr)
	}
	return nil
}

// realTools returns environment variables with the paths of the ior and mdtest that hack/build-ior put into the cache,
// unless the environment already sets them.
func realTools() (environment []string) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil
	}
	for variable, program := range map[string]string{standinior.IORVariable: "ior", standinior.MdtestVariable: "mdtest"} {
		path := filepath.Join(cache, "storagebench", "ior", program)
		if _, err := os.Stat(path); err == nil && os.Getenv(variable) == "" {
			environment = append(environment, variable+"="+path)
		}
	}
	return environment
}

// readEvents calls ended for each test function, with the results of the function and its subtests. For each package,
// it calls ended with the failure outside of any test, if there is one, or with no results. It prints all verdicts, and
// the output of failed tests.
func readEvents(from io.Reader, ended func(testName, []test) error) error {
	outputs := map[testName]*strings.Builder{}
	parts := map[testName][]test{}
	failed := map[string]bool{}
	var errs error
	err := testevents.Read(from, func(e testevents.Event) {
		name := testName{e.Package, e.Test}
		if outputs[name] == nil {
			outputs[name] = &strings.Builder{}
		}
		switch {
		case e.Action == "output":
			outputs[name].WriteString(e.Output)
		case e.Action == "build-output":
			fmt.Print(e.Output)
		case e.Ends():
			output := outputs[name].String()
			delete(outputs, name)
			one := test{testName: name, Seconds: e.Elapsed}
			one.judge(e.Action, output)
			if one.Verdict == fail {
				fmt.Print(output)
			}
			function := name.function()
			if e.Test == "" {
				function.Name, one.Name, one.Seconds = outside, outside, 0
				if one.Verdict == fail && !failed[e.Package] {
					parts[function] = []test{one}
				}
			} else {
				fmt.Printf("   %-12s %7.1f s  %s %s\n", one.Verdict, one.Seconds, one.Package, one.Name)
				failed[e.Package] = failed[e.Package] || one.Verdict == fail
				parts[function] = append(parts[function], one)
			}
			if one.Name == function.Name {
				errs = errors.Join(errs, ended(function, parts[function]))
			}
		}
	})
	return errors.Join(err, errs)
}

var reasonLine = regexp.MustCompile(regexp.QuoteMeta(soak.InconclusivePrefix) + `(.*)`)

// judge sets the verdict on a test from the final action of its events and its output.
func (t *test) judge(action, output string) {
	switch action {
	case "pass":
		t.Verdict = pass
	case "fail":
		t.Verdict = fail
		t.Reason = lastLines(output, 12)
	case "skip":
		t.Verdict = skipped
		if found := reasonLine.FindStringSubmatch(output); found != nil {
			t.Verdict, t.Reason = inconclusive, found[1]
		}
	}
}

func lastLines(text string, most int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}
