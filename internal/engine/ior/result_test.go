package ior

import (
	"strings"
	"testing"

	"github.com/storagebench/storagebench/test/golden"
)

// TestFinalGolden writes the result of every recorded run of the real tool to golden files for review.
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

// TestFinalMdtestGolden does the same for mdtest.
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
