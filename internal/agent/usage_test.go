package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/dataset"
)

func TestUsageAtTheEnd(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	load := lays("prepare", "x")
	load.Dataset.MeasureUsage = true
	ended, _ := r.run(load, noLimit)
	usage := ended.GetUsage()
	if usage.GetApparentBytes() != 1<<20 || usage.GetAllocatedBytes() < 1<<20 || usage.GetFiles() != 1 || usage.GetFilesystemType() == "" ||
		len(usage.GetTypes()) != 1 || usage.GetTypes()[0].GetApparentBytes() != 1<<20 || !usage.GetSettled() {
		t.Errorf("got %v", ended)
	}
	ended, _ = r.run(writes("write", "x", quickWrite), noLimit)
	if ended.GetUsage() != nil {
		t.Errorf("nobody asked, and it tells %v", ended.GetUsage())
	}
}

// Who shares a directory and is not client 0 does not answer for it; nor does a step that failed.
func TestWhoAnswersForADirectory(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		client  int
		shared  bool
		outcome agentapi.Outcome
		want    bool
	}{
		"client 0":         {0, true, agentapi.Outcome_OUTCOME_COMPLETE, true},
		"a client beside":  {1, true, agentapi.Outcome_OUTCOME_COMPLETE, false},
		"a directory each": {1, false, agentapi.Outcome_OUTCOME_COMPLETE, true},
		"stopped":          {0, true, agentapi.Outcome_OUTCOME_STOPPED, true},
		"failed":           {0, true, agentapi.Outcome_OUTCOME_FAILED, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := configuration(t, t.TempDir())
			config.Client = test.client
			a := New(config, SystemClock{})
			s := newStep(a, &agentapi.LoadRequest{Step: key("a"), Dataset: &agentapi.Dataset{MeasureUsage: true},
				Tool: &agentapi.LoadRequest_Mpi{Mpi: &agentapi.MpiTool{Shared: test.shared}}})
			mount, err := config.Volumes[0].place().Make()
			must(t, err)
			directory, err := dataset.Create(mount, a.location(test.client), a.owner())
			must(t, err)
			if told := s.spaceTaken(test.outcome, directory); (told.usage != nil) != test.want || told.problem != "" {
				t.Errorf("got %+v, want any: %t", told, test.want)
			}
			must(t, directory.Close())
		})
	}
}

// A part of a sum is no figure, and the end of the step says so.
func TestUsageThatIsNotKnown(t *testing.T) {
	t.Parallel()
	config := configuration(t, t.TempDir())
	a := New(config, SystemClock{})
	s := newStep(a, &agentapi.LoadRequest{Step: key("a"), Dataset: &agentapi.Dataset{MeasureUsage: true}})
	mount, err := config.Volumes[0].place().Make()
	must(t, err)
	directory, err := dataset.Create(mount, a.location(0), a.owner())
	must(t, err)
	defer func() { _ = directory.Close() }()
	must(t, os.MkdirAll(filepath.Join(directory.Path(), strings.Repeat("d/", 70)), 0o700))
	ended := &agentapi.Ended{}
	s.spaceTaken(agentapi.Outcome_OUTCOME_COMPLETE, directory).tell(ended)
	if ended.GetUsage() != nil || len(ended.GetNotices()) != 1 || ended.GetNotices()[0].GetWarning() != noticeUsage ||
		!strings.Contains(ended.GetNotices()[0].GetMessage(), "exceeds the limits of counting (over 64 levels)") {
		t.Errorf("got %v", ended)
	}
}
