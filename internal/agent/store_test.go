package agent

import (
	"bytes"
	"encoding/csv"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/storagebench/storagebench/test/burstfs"
)

// burstfsProgram builds the burstfs command once and returns its path.
var burstfsProgram = sync.OnceValue(func() string {
	path := filepath.Join(scratch, "burstfs")
	if output, err := exec.Command("go", "build", "-o", path, "../../test/burstfs/cmd/burstfs").CombinedOutput(); err != nil {
		panic(string(output))
	}
	return path
})

// store is a mounted store with known limits. It runs in its own process, because a process that uses files that it
// serves itself must not start other processes, and the agents of these tests start fio.
type store struct {
	t                 *testing.T
	directory, socket string
}

// mountStore mounts a store until the test ends.
func mountStore(t *testing.T, config string) *store {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root may mount")
	}
	base := t.TempDir()
	s := &store{t: t, directory: filepath.Join(base, "store"), socket: filepath.Join(base, "socket")}
	for _, directory := range []string{s.directory, filepath.Join(base, "backing")} {
		must(t, os.Mkdir(directory, 0o755))
	}
	must(t, os.WriteFile(filepath.Join(base, "config"), []byte(config), 0o600))
	var said bytes.Buffer
	command := exec.Command(burstfsProgram(), "--config", filepath.Join(base, "config"), "--backing", filepath.Join(base, "backing"),
		"--control", s.socket, "--with-stdin", s.directory)
	command.Stderr = &said
	lifeline, err := command.StdinPipe()
	must(t, err)
	must(t, command.Start())
	t.Cleanup(func() {
		_ = lifeline.Close()
		if err := command.Wait(); err != nil {
			t.Errorf("the store ended with %v: %s", err, said.String())
		}
	})
	eventually(t, "the store is not mounted", func() bool {
		_, err := burstfs.Ask(s.socket, burstfs.Truth, nil)
		return err == nil
	})
	return s
}

// truth is the store's own record: the total bytes written by the end of each second, in Unix time.
type truth struct {
	seconds []float64
	bytes   []float64
}

func (s *store) truth() truth {
	s.t.Helper()
	text, err := burstfs.Ask(s.socket, burstfs.Truth, nil)
	must(s.t, err)
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	must(s.t, err)
	column := map[string]int{}
	for i, name := range lines[0] {
		column[name] = i
	}
	var told truth
	var sum float64
	for i, line := range lines[1:] {
		began, err := strconv.ParseFloat(line[column["unix_seconds"]], 64)
		must(s.t, err)
		if i == 0 {
			told.seconds, told.bytes = append(told.seconds, began), append(told.bytes, 0)
		}
		written, err := strconv.ParseFloat(line[column["write_bytes"]], 64)
		must(s.t, err)
		sum += written
		told.seconds, told.bytes = append(told.seconds, began+1), append(told.bytes, sum)
	}
	return told
}
