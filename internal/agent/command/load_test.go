package command

import (
	"os"
	"strings"
	"testing"

	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agent/agenttest"
	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agent/volumes"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/dataset"
)

// self makes this process appear as a program that the agent has started.
type self struct{ tool.Program }

func (self) PID() int { return os.Getpid() }

// TestStartedInAnotherDirectory checks that a command is refused if it started in another directory than the checked
// one, even on the same file system.
func TestStartedInAnotherDirectory(t *testing.T) {
	env := &tool.Environment{Timeouts: tool.DefaultTimeouts(), Config: tool.Config{RunUID: "run-1", RunName: "run", Target: "target",
		Benchmark: "benchmark", BenchmarkUID: "benchmark-1", DatasetHash: "hash", Volumes: []tool.VolumeConfig{{Name: "data", Path: t.TempDir()}}}}
	set := volumes.New(env)
	files, err := set.Open(&tool.Step{Environment: env, Stopped: t.Context(),
		Request: &agentapi.LoadRequest{Dataset: &agentapi.Dataset{}}}, volumes.Use{})
	agenttest.Must(t, err)
	t.Cleanup(func() { files.Close(); set.Release() })
	_, checked, err := workFolder(files, "")
	agenttest.Must(t, err)
	r := &run{files: files, handle: self{}}
	t.Chdir(files.Path())
	agenttest.Must(t, r.isIn(checked))
	t.Chdir(t.TempDir())
	if message := status.Convert(r.isIn(checked)).Message(); !strings.Contains(message, dataset.ErrChanged.Error()) {
		t.Errorf("got %q", message)
	}
}
