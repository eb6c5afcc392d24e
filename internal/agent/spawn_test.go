package agent

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
)

// TestSpawnOfAnotherProgram checks that a step is refused if the fio binary was replaced after the agent read its
// version.
func TestSpawnOfAnotherProgram(t *testing.T) {
	t.Parallel()
	path := executable(t, fioVersion)
	r := serve(t, func(a *Agent) { a.env.Config.FioPath = path })
	_, err := r.Describe(t.Context(), &agentapi.DescribeRequest{Epoch: 1})
	must(t, err)
	must(t, os.Rename(executable(t, fioVersion+"exit 1\n"), path))
	if _, err := r.Load(t.Context(), request("a", quickWrite)); reasonIn(err) != tool.ReasonTool || !strings.Contains(err.Error(), "is no longer the fio-3.33") {
		t.Errorf("got %v", err)
	}
}

// TestSpawnBesideAnAdversary checks that loading steps writes nothing outside the client's directory while a process of
// the same user keeps replacing the directory with a link. Each load may succeed or fail.
func TestSpawnBesideAnAdversary(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	r.load(request("first", quickWrite))
	_, err := r.Stop(t.Context(), &agentapi.StopRequest{Epoch: 1})
	must(t, err)
	r.finished("first")
	victim := t.TempDir()
	must(t, os.WriteFile(filepath.Join(victim, "data.0.0"), []byte("mine"), 0o600))
	own := filepath.Join(r.directory, dataPath)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(rand.IntN(3000)) * time.Microsecond):
			}
			if os.Rename(own, own+"-stolen") == nil {
				_ = os.Symlink(victim, own)
				time.Sleep(time.Duration(rand.IntN(1000)) * time.Microsecond)
				_ = os.Remove(own)
				_ = os.Rename(own+"-stolen", own)
			}
		}
	}()
	done := 0
	for i := range 20 {
		load := request("a"+itoa(i), quickWrite)
		if _, err := r.Load(t.Context(), load); err != nil {
			continue
		}
		r.start(load.GetStep().GetId(), noLimit)
		r.finished(load.GetStep().GetId())
		done++
	}
	close(stop)
	<-stopped
	t.Logf("%d steps of 20 were done", done)
	text, err := os.ReadFile(filepath.Join(victim, "data.0.0"))
	if string(text) != "mine" {
		t.Errorf("the file is %q now", text)
	}
	entries, listErr := os.ReadDir(victim)
	if err := errors.Join(err, listErr); err != nil || len(entries) != 1 {
		t.Errorf("the directory has %v, %v", entries, err)
	}
}
