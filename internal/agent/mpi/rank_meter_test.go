package mpi

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/agent/agenttest"
)

// A meter whose directory has a symbolic link in its path counts from the first open file, as any other.
func TestRankMeterFollowsLinks(t *testing.T) {
	t.Parallel()
	directory, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	agenttest.Must(t, os.Symlink(directory, link))
	file, err := os.Create(filepath.Join(directory, "data"))
	agenttest.Must(t, err)
	rank := exec.Command("sleep", "1000")
	rank.Stdin = file
	agenttest.Must(t, rank.Start())
	defer func() { _ = rank.Wait() }()
	defer func() { _ = rank.Process.Kill() }()
	agenttest.Must(t, file.Close())
	meter := newRankMeter(ThisMachine{}, os.Getpid(), "sleep", link, 1)
	meter.look(time.Second)
	if meter.alive() != 1 || !meter.armed {
		t.Errorf("%d ranks, counting: %t", meter.alive(), meter.armed)
	}
}
