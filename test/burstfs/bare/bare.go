// Package bare starts fio without storagebench, as a reference for the time that a transition between two phases may
// take.
package bare

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/storagebench/storagebench/test/burstfs/truth"
)

// Load describes the fio processes and their load.
type Load struct {
	Clients, QueueDepth, BlockBytes, FileBytes int
	Runtime                                    time.Duration
}

// Start starts load.Clients fio processes at once on a mounted store and waits until they have ended. It returns the
// time from the start to their first request according to the store's record. Nothing else may use the store meanwhile.
func Start(t testing.TB, directory string, load Load, record func() truth.Record) time.Duration {
	t.Helper()
	folder, err := os.MkdirTemp(directory, "bare-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder) //nolint:errcheck // the store is removed with the test
	for i := range load.Clients {
		if err := os.WriteFile(filepath.Join(folder, strconv.Itoa(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(filepath.Join(folder, strconv.Itoa(i)), int64(load.FileBytes)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	commands := make([]*exec.Cmd, load.Clients)
	outputs := make([]bytes.Buffer, load.Clients)
	began := time.Now()
	for i := range commands {
		commands[i] = exec.CommandContext(ctx, "fio", "--name=bare", "--filename="+filepath.Join(folder, strconv.Itoa(i)),
			"--rw=randwrite", "--ioengine=libaio", "--direct=1", "--fallocate=none", "--time_based", "--eta=never",
			"--bs="+strconv.Itoa(load.BlockBytes), "--iodepth="+strconv.Itoa(load.QueueDepth), "--size="+strconv.Itoa(load.FileBytes),
			fmt.Sprintf("--runtime=%d", int(load.Runtime.Seconds())))
		commands[i].Stdout, commands[i].Stderr = &outputs[i], &outputs[i]
		if err := commands[i].Start(); err != nil {
			t.Fatalf("starting fio: %v", err)
		}
	}
	for i, command := range commands {
		if err := command.Wait(); err != nil {
			t.Fatalf("fio: %v\n%s", err, &outputs[i])
		}
	}
	time.Sleep(time.Second) // the record contains only complete seconds
	for _, pause := range record().Pauses(began, time.Now()) {
		return pause.To.Sub(began)
	}
	t.Fatal("the store recorded no load by fio")
	return 0
}
