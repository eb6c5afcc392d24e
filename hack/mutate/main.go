// Command mutate makes one change to a package at a time and runs tests on the result. A change survives if no test
// fails: either a test is missing, or the change does not affect behaviour. Changes that do not affect behaviour are
// skipped if equivalent.txt lists them with the reason.
//
//	go run ./hack/mutate [-sample 40] [-seed 1] [-timeout 5m] [PACKAGE...]
//
// It modifies no files, because the compiler reads the changed file through -overlay. The same seed yields the same
// mutants.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// suites maps each package that is mutated by default to the packages whose tests should detect its mutants.
var suites = map[string][]string{
	"./internal/decide":  {"./internal/decide"},
	"./internal/plan":    {"./internal/plan"},
	"./internal/measure": {"./internal/measure", "./internal/result"},
	"./internal/dataset": {"./internal/dataset"},
}

//go:embed equivalent.txt
var equivalent string

type options struct {
	sample  int
	seed    uint64
	timeout time.Duration
	program string
}

func main() {
	var o options
	flag.IntVar(&o.sample, "sample", 40, "number of mutants to test in each package; 0 for all")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the sample")
	flag.DurationVar(&o.timeout, "timeout", 5*time.Minute, "time limit for the tests of one mutant")
	flag.StringVar(&o.program, "go", "go", "go command to run")
	flag.Parse()
	packages := flag.Args()
	if len(packages) == 0 {
		packages = []string{"./internal/decide", "./internal/plan", "./internal/measure", "./internal/dataset"}
	}
	survived := 0
	for _, one := range packages {
		found, err := mutate(one, o)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		survived += found
	}
	if survived > 0 {
		os.Exit(1)
	}
}

// mutate tests a sample of the mutants of a package, and returns how many survived.
func mutate(folder string, o options) (int, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return 0, err
	}
	var all []mutant
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return 0, err
		}
		found, err := mutantsOf(file, text)
		if err != nil {
			return 0, err
		}
		all = append(all, found...)
	}
	explained := explanations()
	all = slices.DeleteFunc(all, func(m mutant) bool { return explained[m.key()] })
	rand.New(rand.NewPCG(o.seed, 0)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] }) // #nosec G404 -- a sample
	counts := map[verdict]int{}
	for _, m := range all {
		if o.sample > 0 && counts[killed]+counts[survived]+counts[timedOut] == o.sample {
			break
		}
		got, err := try(m, folder, o)
		if err != nil {
			return 0, err
		}
		counts[got]++
		if got == survived || got == timedOut {
			fmt.Printf("%s: %s\n", got, m)
		}
	}
	fmt.Printf("%s: of %d mutants, %d were killed, %d timed out, %d survived, %d did not compile, and %d were not tested\n",
		folder, len(all), counts[killed], counts[timedOut], counts[survived], counts[notCompiled],
		len(all)-counts[killed]-counts[timedOut]-counts[survived]-counts[notCompiled])
	return counts[survived], nil
}

// explanations returns the keys of equivalent.txt. Each line contains a key, a tab, and the reason why no test can
// detect the mutant.
func explanations() map[string]bool {
	keys := map[string]bool{}
	for line := range strings.Lines(equivalent) {
		if key, why, found := strings.Cut(strings.TrimSpace(line), "\t"); found && why != "" {
			keys[key] = true
		}
	}
	return keys
}

type verdict string

const (
	killed      verdict = "killed"
	survived    verdict = "survived"
	timedOut    verdict = "timed out"
	notCompiled verdict = "not compiled"
)

// try runs the tests that should detect a mutant in a package.
func try(m mutant, folder string, o options) (verdict, error) {
	scratch, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	original, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	changed, overlay := filepath.Join(scratch, "mutant.go"), filepath.Join(scratch, "overlay.json")
	encoded, err := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
	if err != nil {
		return "", err
	}
	if err := errors.Join(os.WriteFile(changed, m.text, 0o600), os.WriteFile(overlay, encoded, 0o600)); err != nil {
		return "", err
	}
	tests, known := suites[filepath.ToSlash(folder)]
	if !known {
		tests = []string{folder}
	}
	arguments := []string{"test", "-overlay", overlay, "-vet=off", "-count=1", "-p=1", "-failfast", "-timeout=" + o.timeout.String()}
	output, err := exec.CommandContext(context.Background(), o.program, append(arguments, tests...)...).CombinedOutput()
	switch {
	case err == nil:
		return survived, nil
	case strings.Contains(string(output), "[build failed]"):
		return notCompiled, nil
	case strings.Contains(string(output), "panic: test timed out"):
		return timedOut, nil
	}
	return killed, nil
}
