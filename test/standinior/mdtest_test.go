package standinior_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine/ior"
	"github.com/storagebench/storagebench/test/standinior"
)

var (
	fileRates      = []string{"File creation", "File stat", "File read", "File removal"}
	directoryRates = []string{"Directory creation", "Directory stat", "Directory rename", "Directory removal"}
	treeRates      = []string{"Tree creation", "Tree removal"}
)

// trees are the workloads that run with the stand-in, and for comparison with the real mdtest.
var trees = map[string]struct {
	change func(*v1alpha1.MdtestProfile)
	rates  [][]string
}{
	"files and directories": {nil, [][]string{directoryRates, fileRates, treeRates}},
	"files in a tree of each rank": {func(p *v1alpha1.MdtestProfile) {
		p.FilesOnly, p.UniqueDirectories, p.Depth, p.Branching = new(true), new(true), new(int32(2)), new(int32(2))
		p.FileSize, p.ReadSize = new(resource.MustParse("3901")), new(resource.MustParse("100"))
	}, [][]string{fileRates, treeRates}},
	"directories":          {func(p *v1alpha1.MdtestProfile) { p.DirectoriesOnly = new(true) }, [][]string{directoryRates, treeRates}},
	"a neighbour's leaves": {func(p *v1alpha1.MdtestProfile) { p.Depth, p.Args = new(int32(1)), []string{"-L", "-N", "1"} }, [][]string{directoryRates, fileRates, treeRates}},
}

func doTree(t *testing.T, program, name string) []string {
	t.Helper()
	profile := &v1alpha1.MdtestProfile{FilesPerProcess: 28, Iterations: new(int32(2))}
	if change := trees[name].change; change != nil {
		change(profile)
	}
	arguments, err := ior.MdtestArguments(profile, ior.Parameters{Purpose: ior.Measure})
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	done := run(t, folder, program, arguments...)
	output, err := ior.ReadMdtestOutput(strings.NewReader(done.stdout))
	if err != nil {
		t.Fatal(err)
	}
	if result := ior.FinalMdtest(output, done.exit, done.stderr, ior.MdtestExpectation{Iterations: 2, Tasks: ranks}); result.Outcome != ior.Complete {
		t.Fatalf("mdtest %v: %s\n%s%s", arguments, result.Message, done.stdout, done.stderr)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("it left %v %v", left, err)
	}
	var rates []string
	for _, rate := range output.Rates {
		rates = append(rates, rate.Operation)
		if least := float64(ranks) * 1000 / done.took.Seconds(); float64(rate.MinMilli) < least {
			t.Errorf("%+v would have taken longer than the whole program, %v", rate, done.took)
		}
	}
	return rates
}

func TestMdtest(t *testing.T) {
	for name, test := range trees {
		t.Run(name, func(t *testing.T) {
			var wanted []string
			for _, rates := range test.rates {
				wanted = append(wanted, rates...)
			}
			if diff := cmp.Diff(wanted, doTree(t, standIns(t).Mdtest, name)); diff != "" {
				t.Errorf("rates:\n%s", diff)
			}
		})
	}
}

func TestSameAsRealMdtest(t *testing.T) {
	program := os.Getenv(standinior.MdtestVariable)
	if program == "" {
		t.Skipf("%s names no real mdtest", standinior.MdtestVariable)
	}
	for name := range trees {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(doTree(t, program, name), doTree(t, standIns(t).Mdtest, name)); diff != "" {
				t.Errorf("rates differ from the real mdtest's:\n%s", diff)
			}
		})
	}
}

// TestMdtestRefuses checks that the stand-in refuses an option that it does not implement, instead of ignoring it.
func TestMdtestRefuses(t *testing.T) {
	done := run(t, t.TempDir(), standIns(t).Mdtest, "-n", "4", "-S", "-d", "made")
	output, err := ior.ReadMdtestOutput(strings.NewReader(done.stdout))
	if err != nil {
		t.Fatal(err)
	}
	if result := ior.FinalMdtest(output, done.exit, done.stderr, ior.MdtestExpectation{}); result.Failure != ior.FailureBadOption {
		t.Errorf("%v %v\n%s", result.Outcome, result.Failure, done.stdout)
	}
}
