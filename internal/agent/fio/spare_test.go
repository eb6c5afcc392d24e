package fio

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

// opened returns the tool, the open directory of a step, and how to spawn fio there.
func opened(t *testing.T) (*Tool, *volumes.Files, spawning) {
	t.Helper()
	env := &tool.Environment{Timeouts: tool.DefaultTimeouts(), Config: tool.Config{RunUID: "run-1", RunName: "run", Target: "target",
		Benchmark: "benchmark", BenchmarkUID: "benchmark-1", DatasetHash: "hash", Volumes: []tool.VolumeConfig{{Name: "data", Path: t.TempDir()}}}}
	set := volumes.New(env)
	step := &tool.Step{Environment: env, Stopped: t.Context(),
		Request: &agentapi.LoadRequest{Dataset: &agentapi.Dataset{}, Tool: &agentapi.LoadRequest_Fio{Fio: &agentapi.FioTool{}}}}
	files, err := set.Open(step, volumes.Use{})
	agenttest.Must(t, err)
	t.Cleanup(func() { files.Close(); set.Release() })
	f := New(env, set)
	how, err := f.howToSpawn(step, files)
	agenttest.Must(t, err)
	return f, files, how
}

// TestSpawnInAnotherDirectory checks that no fio is spawned in a directory that has replaced the checked one.
func TestSpawnInAnotherDirectory(t *testing.T) {
	t.Parallel()
	f, files, how := opened(t)
	agenttest.Must(t, os.Rename(files.Path(), files.Path()+"-moved"))
	agenttest.Must(t, os.Mkdir(files.Path(), 0o700))
	waiting, err := f.fioFor(how, files, files)
	if err == nil {
		waiting.discard()
	}
	if message := status.Convert(err).Message(); !strings.Contains(message, dataset.ErrChanged.Error()) {
		t.Errorf("got %v", message)
	}
}

// TestSpareWhoseInputHasEnded checks that a spare fio exits when its input ends, and is not used afterwards.
func TestSpareWhoseInputHasEnded(t *testing.T) {
	t.Parallel()
	f, files, how := opened(t)
	f.spare.keep(how)
	spare := f.spare.waiting
	agenttest.Must(t, spare.stdin.Close())
	<-spare.handle.Exited()
	if got := f.spare.take(how, files); got != nil {
		t.Error("it was taken")
		got.discard()
	}
}
