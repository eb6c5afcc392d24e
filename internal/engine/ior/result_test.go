package ior

import (
	"strings"
	"testing"

	"github.com/storagebench/storagebench/test/golden"
)

// TestFinalGolden compares the result of each recorded IOR run with a golden file.
func TestFinalGolden(t *testing.T) {
	t.Parallel()
	for _, run := range recordings(t) {
		if run.mdtest() {
			continue
		}
		output, err := ReadOutput(strings.NewReader(run.stdout))
		if err != nil {
			t.Fatal(err)
		}
		result := Final(output, Exit{Code: run.code}, run.stderr, Expectation{})
		golden.File(t, "testdata/golden/"+run.name+".json", inJSON(t, result))
	}
}

// TestFinalMdtestGolden compares the result of each recorded mdtest run with a golden file.
func TestFinalMdtestGolden(t *testing.T) {
	t.Parallel()
	for _, run := range recordings(t) {
		if !run.mdtest() {
			continue
		}
		output, err := ReadMdtestOutput(strings.NewReader(run.stdout))
		if err != nil {
			t.Fatal(err)
		}
		golden.File(t, "testdata/golden/"+run.name+".json", inJSON(t, FinalMdtest(output, Exit{Code: run.code}, run.stderr, MdtestExpectation{})))
	}
}

// TestFinalOfALongCommandLine checks that a time limit explains missing repetitions, wherever -T is in the command
// line.
func TestFinalOfALongCommandLine(t *testing.T) {
	t.Parallel()
	program := strings.Repeat("/long", maxQuoteBytes/5) + "/ior"
	text := readFile(t, "testdata/runs/4.0.0/seed-fpp-write.out")
	text = strings.Replace(text, ": ior ", ": "+program+" ", 1)
	text = strings.Replace(text, "repetitions         : 3", "repetitions         : 1000", 1)
	output, err := ReadOutput(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	result := Final(output, Exit{}, "", Expectation{})
	if result.Outcome != Complete || len(output.CommandLine) > maxQuoteBytes+4 {
		t.Errorf("%s: %s; command line %q", result.Outcome, result.Message, output.CommandLine)
	}
}
