package burst_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/cluster"
	"github.com/storagebench/storagebench/test/cluster/burst"
	"github.com/storagebench/storagebench/test/hang"
)

// holdVariable is an environment variable that makes the test program start a store and wait until it is killed.
const holdVariable = "BURST_TEST_HOLD"

// slow completes one operation per second, so write takes three seconds.
var slow = model.Config{Buckets: []model.Bucket{{Name: "volume", Counts: model.CountsOperations, BaselinePerSecond: 1}}}

func TestMain(m *testing.M) {
	if folder := os.Getenv(holdVariable); folder != "" {
		state, err := cluster.Open(folder)
		if err == nil {
			_, err = burst.Start(context.Background(), state, burst.Options{Name: "held", Config: slow})
		}
		fmt.Println("started:", err)
		select {}
	}
	os.Exit(m.Run())
}

func embedded(t *testing.T) cluster.State {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a Kubernetes cluster, which -short leaves out")
	}
	found := cluster.Require(t)
	if !found.Embedded {
		t.Skip("needs the machine of the node, so the cluster of test/cluster")
	}
	return found.State
}

// inNode runs a program in the node and returns its output.
func inNode(t *testing.T, state cluster.State, arguments ...string) string {
	t.Helper()
	command, err := state.Enter(t.Context(), arguments...)
	if err != nil {
		t.Fatal(err)
	}
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", arguments, err, output)
	}
	return string(output)
}

// write writes three blocks as a user other than root.
func write(t *testing.T, state cluster.State, path string) {
	t.Helper()
	inNode(t, state, "setpriv", "--reuid=65532", "--regid=65532", "--clear-groups", "--",
		"dd", "if=/dev/zero", "of="+path+"/file", "bs=4k", "count=3", "oflag=direct")
}

// gone checks that nothing is left of a store.
func gone(t *testing.T, state cluster.State, name string) {
	t.Helper()
	if mounts := inNode(t, state, "cat", "/proc/mounts"); strings.Contains(mounts, "/"+name+"/") {
		t.Errorf("a mount is left:\n%s", mounts)
	}
	pid, err := state.NodePID()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(fmt.Sprintf("/proc/%d/root/run/storagebench-burst/%s", pid, name)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("files are left: %v", err)
	}
	// The process that entered the node to start the store ends a moment after the store.
	for hung := time.Now().Add(5 * time.Minute); len(processes(t, name)) > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(hung) {
			t.Errorf("processes are left: %v", processes(t, name))
			return
		}
	}
}

// processes returns the /proc/PID/cmdline files of a store's processes on this machine.
func processes(t *testing.T, name string) []string {
	t.Helper()
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(commands, func(file string) bool {
		text, _ := os.ReadFile(file) // the process may have ended
		return !strings.Contains(string(text), "--backing\x00/run/storagebench-burst/"+name+"/")
	})
}

func TestStore(t *testing.T) {
	state := embedded(t)
	ctx, cancel := context.WithTimeout(t.Context(), hang.Guard)
	defer cancel()
	s, err := burst.Start(ctx, state, burst.Options{Name: "a", Config: slow})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.End(context.Background()) })
	write(t, state, s.Path())
	if _, err := burst.Start(ctx, state, burst.Options{Name: "a", Config: slow}); err == nil || !strings.Contains(err.Error(), "there already") {
		t.Errorf("a second store of the same name: %v", err)
	}
	if names, err := burst.List(state); err != nil || !slices.Contains(names, "a") {
		t.Errorf("the list is %q, %v", names, err)
	}

	fast := slow
	fast.Buckets = []model.Bucket{slow.Buckets[0]}
	fast.Buckets[0].BaselinePerSecond = 1000
	if err := s.Set(fast); err != nil {
		t.Fatal(err)
	}
	write(t, state, s.Path())
	fast.Buckets = nil
	if err := s.Set(fast); err == nil || !strings.Contains(err.Error(), "make another store") {
		t.Errorf("a configuration without the bucket: %v", err)
	}
	time.Sleep(1100 * time.Millisecond)
	record, err := s.Truth()
	if err != nil {
		t.Fatal(err)
	}
	if sums := record.Between(record.Start, time.Now()); sums.WriteOperations != 6 || sums.WriteBytes != 6*4096 {
		t.Errorf("after six writes, the record has %+v", sums)
	}
	if err := s.End(ctx); err != nil {
		t.Error(err)
	}
	gone(t, state, "a")
	if err := s.End(ctx); err != nil {
		t.Errorf("ended again: %v", err)
	}
}

// TestEndOfStoreInUse requires that End removes a store while a process has one of its files open, whether the store is
// running or was killed.
func TestEndOfStoreInUse(t *testing.T) {
	state := embedded(t)
	for _, kill := range []bool{false, true} {
		t.Run(map[bool]string{false: "asked", true: "killed"}[kill], func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), hang.Guard)
			defer cancel()
			s, err := burst.Start(ctx, state, burst.Options{Name: "b", Config: slow, Stays: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.End(context.Background()) })
			user, err := state.Enter(ctx, "unshare", "--mount", "sh", "-c", "exec 9>"+s.Path()+"/held; echo; exec sleep 60")
			if err != nil {
				t.Fatal(err)
			}
			said, err := user.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := user.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := bufio.NewReader(said).ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			if kill {
				for _, process := range processes(t, "b") {
					var pid int
					if _, err := fmt.Sscanf(process, "/proc/%d/", &pid); err == nil {
						_ = unix.Kill(pid, unix.SIGKILL)
					}
				}
				time.Sleep(100 * time.Millisecond)
			}
			if err := s.End(ctx); err != nil {
				t.Error(err)
			}
			gone(t, state, "b")
			_ = user.Process.Kill()
			_ = user.Wait()
		})
	}
}

// TestKilledProgram requires that a store ends when the program that started it is killed.
func TestKilledProgram(t *testing.T) {
	state := embedded(t)
	self := exec.CommandContext(t.Context(), "/proc/self/exe")
	self.Env = append(os.Environ(), holdVariable+"="+state.Folder())
	said, err := self.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := self.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(said).ReadString('\n'); err != nil || line != "started: <nil>\n" {
		t.Fatalf("the program printed %q, %v", line, err)
	}
	if err := self.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = self.Wait()
	for hung := time.Now().Add(5 * time.Minute); len(processes(t, "held")) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(hung) {
			t.Fatal("the store outlives its program")
		}
	}
	s, err := burst.Find(state, "held")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.End(t.Context()); err != nil {
		t.Error(err)
	}
	gone(t, state, "held")
}
