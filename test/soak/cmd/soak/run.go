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
	"time"

	"github.com/storagebench/storagebench/hack/testevents"
	"github.com/storagebench/storagebench/test/soak"
	"github.com/storagebench/storagebench/test/standinior"
)

// mostAttempts is how often a test runs that is inconclusive each time.
const mostAttempts = 3

// run runs the tests of a part, and those again that were inconclusive.
func (p part) run(ctx context.Context, seed uint64) (*record, error) {
	findings, err := os.CreateTemp("", "soak-findings-")
	if err != nil {
		return nil, fmt.Errorf("make a file for findings: %w", err)
	}
	defer os.Remove(findings.Name()) //nolint:errcheck // in the folder for temporary files
	if err := findings.Close(); err != nil {
		return nil, err
	}
	r := newRecord(p.name, seed)
	if p.cluster {
		end, err := clusterUp(ctx)
		if err != nil {
			return nil, err
		}
		defer end()
		// Test programs compare the operator's rights with its requests since then. See test/e2e.
		p.environment = append(p.environment, "E2E_AUDIT="+r.StartedAt.Format(time.RFC3339))
	}
	pattern, err := p.pattern()
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		tests, err := p.goTest(ctx, pattern, findings.Name(), seed)
		if err != nil {
			return nil, err
		}
		r.merge(tests, attempt)
		pattern = r.inconclusivePattern()
		if pattern == "" || attempt == mostAttempts || ctx.Err() != nil {
			break
		}
		fmt.Printf("== %s: again, attempt %d: %s\n", p.name, attempt+1, pattern)
	}
	if err := r.readFindings(findings.Name()); err != nil {
		return nil, err
	}
	r.close()
	return r, ctx.Err()
}

// clusterUp starts the embedded cluster unless it is up, and returns what ends one that was started.
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

// goTest runs `go test` once. A test that fails is no error; one without any result is.
func (p part) goTest(ctx context.Context, pattern, findings string, seed uint64) ([]test, error) {
	arguments := []string{"test", "-json", "-count=1", "-p=1", "-timeout", p.timeout.String(), "-run", pattern}
	command := exec.CommandContext(ctx, "go", append(arguments, p.packages...)...)
	// Interrupted tests end what they have started.
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = time.Minute
	command.Env = append(append(append(os.Environ(), realTools()...), soak.Environment(findings, seed)...), p.environment...)
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start go test: %w", err)
	}
	tests, readErr := readEvents(output)
	err = command.Wait()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		return nil, fmt.Errorf("run go test: %w", err)
	}
	if readErr != nil {
		return nil, fmt.Errorf("read the events of go test: %w", readErr)
	}
	if err != nil && !slices.ContainsFunc(tests, func(t test) bool { return t.Verdict == fail }) {
		tests = append(tests, test{Name: strings.Join(p.packages, " "), Verdict: fail, Reason: "go test failed outside of any test: " + err.Error()})
	}
	return tests, nil
}

// realTools names the IOR and the mdtest that hack/build-ior has left in the cache, unless the environment names others.
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

// readEvents returns the tests that ended. It prints their verdicts, and the output of what failed.
func readEvents(from io.Reader) (tests []test, err error) {
	outputs := map[string]*strings.Builder{}
	err = testevents.Read(from, func(e testevents.Event) {
		key := e.Package + " " + e.Test
		if outputs[key] == nil {
			outputs[key] = &strings.Builder{}
		}
		switch {
		case e.Action == "output":
			outputs[key].WriteString(e.Output)
		case e.Action == "build-output":
			fmt.Print(e.Output)
		case e.Ends():
			output := outputs[key].String()
			delete(outputs, key)
			one := test{Package: e.Package, Name: e.Test, Seconds: e.Elapsed}
			one.judge(e.Action, output)
			if e.Test != "" {
				tests = append(tests, one)
				fmt.Printf("   %-12s %7.1f s  %s %s\n", one.Verdict, one.Seconds, one.Package, one.Name)
			}
			if one.Verdict == fail {
				fmt.Print(output)
			}
		}
	})
	return tests, err
}

var reasonLine = regexp.MustCompile(regexp.QuoteMeta(soak.InconclusivePrefix) + `(.*)`)

// judge gives a verdict to a test by the action that ended it and what it printed.
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
