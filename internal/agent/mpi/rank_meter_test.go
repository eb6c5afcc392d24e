package mpi

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/agent/agenttest"
	"github.com/storagebench/storagebench/internal/process"
)

// TestRankMeterFollowsLinks checks that the meter detects open files in its directory even if the path of the directory
// contains a symbolic link.
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

// endedRanks is a system whose daemon has reaped its ranks already.
type endedRanks struct {
	ThisMachine
	counters process.IO
}

func (e endedRanks) ReadIO(int) (process.IO, error)             { return e.counters, nil }
func (e endedRanks) Descendants(int) ([]process.Process, error) { return nil, nil }

// TestRankMeterOfEndedRanks checks that the load of ranks that end before the first reading counts, and that the I/O of
// a daemon that starts without ranks does not.
func TestRankMeterOfEndedRanks(t *testing.T) {
	t.Parallel()
	start := process.IO{ReadBytes: 158_398, WriteBytes: 168, ReadCalls: 448, WriteCalls: 12}
	all := start.Add(process.IO{ReadBytes: 2 * 107 << 10, WriteBytes: 16<<20 + 8192, ReadCalls: 720, WriteCalls: 200})
	for counters, want := range map[process.IO]uint64{start: 0, all: 16 << 20} {
		meter := newRankMeter(endedRanks{counters: counters}, 1, "ior", t.TempDir(), 2)
		got := meter.look(time.Second)
		if got.WriteBytes < want || got.WriteBytes > want+want/1000 || got.ReadBytes > 32<<10 {
			t.Errorf("%+v of %+v, want %d bytes written", got, counters, want)
		}
	}
}
