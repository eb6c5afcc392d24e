package volumes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/internal/agent/agenttest"
	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/dataset"
)

// newSet returns the volumes of a client with a single temporary directory.
func newSet(t *testing.T) *Set {
	t.Helper()
	return New(&tool.Environment{Timeouts: tool.DefaultTimeouts(), Config: tool.Config{RunUID: "run-1", RunName: "run", Target: "target",
		Benchmark: "benchmark", BenchmarkUID: "benchmark-1", DatasetHash: "hash", Volumes: []tool.VolumeConfig{{Name: "data", Path: t.TempDir()}}}})
}

// filesOf returns the files of a step in a new directory. Its mount reports the given file system type.
func filesOf(t *testing.T, set *Set, filesystem string, wanted *agentapi.Dataset, use Use) *Files {
	t.Helper()
	mount, err := set.env.Config.Volumes[0].Place().Make()
	agenttest.Must(t, err)
	mount.FilesystemType = filesystem
	directory, err := dataset.Create(mount, set.Location(0), set.owner())
	agenttest.Must(t, err)
	t.Cleanup(func() { _ = directory.Close() })
	request := &agentapi.LoadRequest{Dataset: wanted}
	return &Files{Dataset: directory, set: set, step: &tool.Step{Environment: set.env, Request: request}, request: request, use: use,
		volume: set.env.Config.Volumes[0]}
}

// TestWhoMeasuresUsage checks that a step measures disk usage on request, unless the step failed or another client
// measures it.
func TestWhoMeasuresUsage(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		asked   bool
		use     Use
		outcome agentapi.Outcome
		want    bool
	}{
		"complete":                   {true, Use{}, agentapi.Outcome_OUTCOME_COMPLETE, true},
		"stopped":                    {true, Use{}, agentapi.Outcome_OUTCOME_STOPPED, true},
		"failed":                     {true, Use{}, agentapi.Outcome_OUTCOME_FAILED, false},
		"another client's directory": {true, Use{NoUsage: true}, agentapi.Outcome_OUTCOME_COMPLETE, false},
		"not asked":                  {false, Use{}, agentapi.Outcome_OUTCOME_COMPLETE, false},
	} {
		files := filesOf(t, newSet(t), "ext4", &agentapi.Dataset{MeasureUsage: test.asked}, test.use)
		if found := files.spaceTaken(test.outcome); (found.usage != nil) != test.want || found.problem != "" {
			t.Errorf("%s: got %+v, want any: %t", name, found, test.want)
		}
	}
}

// TestUsageThatIsNotKnown checks that usage that cannot be measured completely is reported as a notice, without a
// figure.
func TestUsageThatIsNotKnown(t *testing.T) {
	t.Parallel()
	files := filesOf(t, newSet(t), "ext4", &agentapi.Dataset{MeasureUsage: true}, Use{})
	agenttest.Must(t, os.MkdirAll(filepath.Join(files.Path(), strings.Repeat("d/", 70)), 0o700))
	ended := &agentapi.Ended{}
	files.spaceTaken(agentapi.Outcome_OUTCOME_COMPLETE).tell(ended)
	if ended.GetUsage() != nil || len(ended.GetNotices()) != 1 || ended.GetNotices()[0].GetWarning() != noticeUsage ||
		!strings.Contains(ended.GetNotices()[0].GetMessage(), "is too large to count (directories are nested more than 64 levels") {
		t.Errorf("got %v", ended)
	}
}

// TestUsageOfAVolumeThatIsNotKnown checks that the usage of several volumes is unknown if that of any volume is.
func TestUsageOfAVolumeThatIsNotKnown(t *testing.T) {
	t.Parallel()
	known := func() *agentapi.Usage { return &agentapi.Usage{AllocatedBytes: 5, Files: 1, Settled: true} }
	if sum := addUsage(known(), known()); sum.GetAllocatedBytes() != 10 || sum.GetFiles() != 2 || !sum.GetSettled() {
		t.Errorf("got %v", sum)
	}
	for _, sum := range []*agentapi.Usage{addUsage(nil, known()), addUsage(known(), nil), addUsage(addUsage(known(), nil), known())} {
		if sum != nil {
			t.Errorf("unknown and 5 bytes are %v", sum)
		}
	}
}
