package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/storagebench/storagebench/test/soak"
)

const (
	// fuzzTime is the duration of each fuzz test.
	fuzzTime = 30 * time.Minute
	// mostInputs and mostInputBytes limit the inputs of a fuzz test that are kept in the repository, because `make test`
	// runs each of them.
	mostInputs, mostInputBytes = 50, 4 << 10
)

// goFuzz runs fuzz tests, as many at a time as there are CPUs, with one worker each. It calls ended after each test,
// and records the last line of its progress. It leaves failing inputs, and some of the inputs that reached new code, in
// testdata/fuzz of the package.
func goFuzz(ctx context.Context, tests []testName, findings string, ended func(testName, []test) error) error {
	var mutex sync.Mutex
	var group errgroup.Group
	group.SetLimit(runtime.NumCPU())
	for _, one := range tests {
		group.Go(func() error {
			if ctx.Err() != nil {
				return nil
			}
			arguments := []string{"test", "-run=^$", "-fuzz=^" + one.Name + "$", "-fuzztime=" + fuzzTime.String(), "-parallel=1", "./" + one.Package}
			began := time.Now()
			var output []byte
			err := runGo(ctx, arguments, nil, func(from io.Reader) (err error) {
				output, err = io.ReadAll(from)
				return err
			})
			if err != nil {
				return err
			}
			result := judgeFuzz(one, string(output))
			result.Seconds = time.Since(began).Seconds()
			mutex.Lock()
			defer mutex.Unlock()
			fmt.Printf("   %-12s %7.1f s  %s %s: %s\n", result.Verdict, result.Seconds, one.Package, one.Name, progress(string(output)))
			if result.Verdict == fail {
				fmt.Print(string(output))
			}
			if err := soak.AppendFinding(findings, soak.Finding{Test: one.Name, Package: one.Package, Title: one.Package + " " + one.Name, Text: progress(string(output))}); err != nil {
				return err
			}
			if err := ended(one, []test{result}); err != nil {
				return err
			}
			return keepInputs(one)
		})
	}
	return group.Wait()
}

// judgeFuzz returns the verdict on a fuzz test from the output of go test.
func judgeFuzz(name testName, output string) test {
	one := test{testName: name, Verdict: fail, Reason: lastLines(output, 12)}
	for line := range strings.Lines(output) {
		if strings.HasPrefix(line, "ok ") && progress(output) != "" {
			one.Verdict, one.Reason = pass, ""
		}
	}
	// Go before 1.27 may report its own deadline as a failure: go.dev/issue/75804.
	if one.Verdict == fail && strings.Contains(output, "context deadline exceeded\n") && !strings.Contains(output, "Failing input written to") {
		one.Verdict = inconclusive
	}
	return one
}

// progress returns the last progress line of a fuzz test, or "" if there is none.
func progress(output string) (last string) {
	for line := range strings.Lines(output) {
		if strings.HasPrefix(line, "fuzz: elapsed: ") && strings.Contains(line, "execs: ") {
			last = strings.TrimSpace(line)
		}
	}
	return last
}

// keepInputs copies inputs that reached new code from the go command's cache to testdata/fuzz of the package, up to
// mostInputs.
func keepInputs(name testName) error {
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		return fmt.Errorf("find the cache of the go command: %w", err)
	}
	module, err := exec.Command("go", "list", "-m").Output()
	if err != nil {
		return fmt.Errorf("find the module: %w", err)
	}
	found, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(cache)), "fuzz", strings.TrimSpace(string(module)), name.Package, name.Name, "*"))
	if err != nil {
		return err
	}
	folder := filepath.Join(name.Package, "testdata", "fuzz", name.Name)
	kept, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		return err
	}
	for _, file := range found {
		if len(kept) >= mostInputs {
			break
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read an input of %s: %w", name.Name, err)
		}
		to := filepath.Join(folder, filepath.Base(file))
		if _, err := os.Stat(to); err == nil || len(content) > mostInputBytes {
			continue
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return fmt.Errorf("keep an input of %s: %w", name.Name, err)
		}
		if err := os.WriteFile(to, content, 0o644); err != nil {
			return fmt.Errorf("keep an input of %s: %w", name.Name, err)
		}
		kept = append(kept, to)
	}
	return nil
}
