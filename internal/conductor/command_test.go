package conductor_test

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/conductor"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/test/builders"
)

// TestCommandRequests checks that a prepare phase sends only the setup command, and that a measured step sends both
// commands. Arguments are sent unexpanded, because only the client knows the values of the variables.
func TestCommandRequests(t *testing.T) {
	t.Parallel()
	size := resource.MustParse("1Gi")
	profile := &v1alpha1.CommandProfile{
		Command: []string{"zip", "$(DATA)/a b"}, Setup: []string{"$(AGENT)", "files"}, WorkingDirectory: "work", DatasetSize: &size, SuccessExitCodes: []int32{0, 12},
	}
	made, problems := plan.Make(builders.Benchmark("b").Target("target").Load(v1alpha1.Engine{Command: profile}).
		Prepare("files").Steady("zip", "1h").ActiveDeadline("72h").Run(), 1)
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	for i, want := range [][]string{nil, profile.Command} {
		request, err := conductor.LoadRequest(made.Steps[i], decide.ClientKey{Target: "target"}, 1, conductor.Job{})
		if err != nil {
			t.Fatal(err)
		}
		tool := request.GetCommand()
		if !slices.Equal(tool.GetCommand(), want) || !slices.Equal(tool.GetSetup(), profile.Setup) || tool.GetWorkingDirectory() != "work" ||
			!slices.Equal(tool.GetSuccessExitCodes(), profile.SuccessExitCodes) || tool.GetSampleIntervalNanoseconds() != 1e9 {
			t.Errorf("step %d: %v", i, tool)
		}
		// A setup that is repeated may take as long as the whole run.
		if got := time.Duration(request.GetLoadTimeoutNanoseconds()); got != 72*time.Hour {
			t.Errorf("step %d: loading may take %s", i, got)
		}
		if dataset := request.GetDataset(); !dataset.GetMeasureUsage() || dataset.GetNewBytes() != []uint64{1 << 30, 0}[i] {
			t.Errorf("step %d: %v", i, dataset)
		}
	}
}
