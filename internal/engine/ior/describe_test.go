package ior

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine"
)

// TestCautions checks that exactly the expected warnings appear before a run. Each is identified by a word.
func TestCautions(t *testing.T) {
	t.Parallel()
	both := []v1alpha1.Operation{v1alpha1.OperationWrite, v1alpha1.OperationRead}
	for name, test := range map[string]struct {
		change         func(*v1alpha1.IORProfile)
		clients, ranks int
		wanted         []string
	}{
		"several clients":            {nil, 2, 4, nil},
		"one client of many ranks":   {nil, 1, 4, []string{"the only client"}},
		"one client of one rank":     {nil, 1, 1, []string{"the only client"}},
		"one client, direct":         {func(p *v1alpha1.IORProfile) { p.Direct = new(true) }, 1, 4, nil},
		"one client that writes":     {func(p *v1alpha1.IORProfile) { p.Operations = both[:1] }, 1, 4, nil},
		"each its own":               {func(p *v1alpha1.IORProfile) { p.ReorderTasks = v1alpha1.IORReorderNone }, 2, 1, []string{"from its client's cache"}},
		"pattern of IOR's":           {func(p *v1alpha1.IORProfile) { p.DataPattern = "" }, 2, 1, []string{"dataPattern"}},
		"not flushed":                {func(p *v1alpha1.IORProfile) { p.Fsync = new(false) }, 2, 1, []string{"fsync"}},
		"each write flushed":         {func(p *v1alpha1.IORProfile) { p.Fsync, p.Args = new(false), []string{"-Y"} }, 2, 1, nil},
		"verify of writes and reads": {func(p *v1alpha1.IORProfile) { p.Verify = new(true) }, 2, 1, []string{"read times", "read back"}},
		"verify of writes":           {func(p *v1alpha1.IORProfile) { p.Verify, p.Operations = new(true), both[:1] }, 2, 1, []string{"read back"}},
		"verify of reads":            {func(p *v1alpha1.IORProfile) { p.Verify, p.Operations = new(true), both[1:] }, 2, 1, []string{"read times"}},
	} {
		profile := &v1alpha1.IORProfile{TransferSize: resource.MustParse("1Mi"), BlockSize: resource.MustParse("4Mi"), Operations: both, DataPattern: "Timestamp"}
		if test.change != nil {
			test.change(profile)
		}
		traits, err := Describe(profile, test.clients, test.ranks)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.EqualFunc(traits.Cautions, test.wanted, func(got, want string) bool { return strings.Contains(got, want) }) {
			t.Errorf("%s: %q, want %q", name, traits.Cautions, test.wanted)
		}
	}
}

// TestMdtestCautions checks that the warnings before an mdtest run distinguish files without data from data that is not
// read.
func TestMdtestCautions(t *testing.T) {
	t.Parallel()
	size := func(text string) *resource.Quantity { return new(resource.MustParse(text)) }
	for name, test := range map[string]struct {
		profile v1alpha1.MdtestProfile
		want    string
	}{
		"no data":     {v1alpha1.MdtestProfile{}, "fileSize is 0"},
		"data":        {v1alpha1.MdtestProfile{FileSize: size("4Ki")}, ""},
		"not read":    {v1alpha1.MdtestProfile{FileSize: size("4Ki"), ReadSize: size("0")}, "readSize is 0"},
		"directories": {v1alpha1.MdtestProfile{DirectoriesOnly: new(true)}, ""},
	} {
		test.profile.FilesPerProcess = 10
		made, err := DescribeMdtest(&test.profile, 2, 1)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := strings.Join(made.Cautions, ", "); (got == "") != (test.want == "") || !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestLayoutIsWritten checks that a layout writes the files even if the profile only reads.
func TestLayoutIsWritten(t *testing.T) {
	t.Parallel()
	e := Engine{Profile: iorProfile(func(p *v1alpha1.IORProfile) { p.Operations = []v1alpha1.Operation{v1alpha1.OperationRead} })}
	for purpose, writes := range map[v1alpha1.StepPurpose]bool{v1alpha1.StepPrepare: true, v1alpha1.StepMeasure: false} {
		made, err := e.Describe(&engine.Step{Purpose: purpose, Clients: 2, Processes: 4})
		if err != nil {
			t.Fatal(err)
		}
		if made.Writes != writes || made.Reads == writes || made.NeedsFiles == writes {
			t.Errorf("%s: reads %t, writes %t, needs files %t", purpose, made.Reads, made.Writes, made.NeedsFiles)
		}
	}
}
