package process

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startFio runs a fio with slow writers and with the status dumps that the agent requests.
func startFio(t *testing.T, extra ...string) *Handle {
	t.Helper()
	if _, err := exec.LookPath("fio"); err != nil {
		t.Fatalf("these tests need fio: %v", err)
	}
	arguments := append([]string{
		"--name=job", "--directory=" + t.TempDir(), "--ioengine=psync", "--rw=write", "--bs=4k", "--size=1m", "--rate=400k",
		"--time_based", "--runtime=86400", "--group_reporting", "--output-format=json+", "--output=/dev/null",
		"--status-interval=200ms", "--eta=never",
	}, extra...)
	return mustStart(t, "fio", arguments...)
}

func awaitWorkers(t *testing.T, pid, want int) []Worker {
	t.Helper()
	var workers []Worker
	eventually(t, "the jobs do not start", func() bool {
		workers, _ = Workers(pid)
		return len(workers) == want && (want == 0 || workers[0].Turns > 10)
	})
	return workers
}

// awaitMove waits until a worker runs on a CPU again.
func awaitMove(t *testing.T, pid int) {
	t.Helper()
	before, err := Workers(pid)
	must(t, err)
	eventually(t, "no worker moves", func() bool {
		after, err := Workers(pid)
		must(t, err)
		return slices.ContainsFunc(after, func(now Worker) bool {
			return slices.ContainsFunc(before, func(then Worker) bool { return then.TID == now.TID && then.Turns < now.Turns })
		})
	})
}

func TestWorkersOfFio(t *testing.T) {
	for name, thread := range map[string]string{"forked jobs": "--thread=0", "threads": "--thread=1"} {
		t.Run(name, func(t *testing.T) {
			h := startFio(t, thread, "--numjobs=3")
			before := awaitWorkers(t, h.PID(), 3)
			for _, worker := range before {
				if worker.TID == h.PID() || worker.Command != "fio" {
					t.Errorf("no worker: %+v", worker)
				}
				if forked := worker.PID != h.PID(); forked != (thread == "--thread=0") {
					t.Errorf("worker %+v with %s", worker, thread)
				}
			}
			var progress Progress
			must(t, progress.Observe(h.PID(), 0))
			eventually(t, "moving workers count as stalled", func() bool {
				must(t, progress.Observe(h.PID(), time.Second))
				return len(progress.Stalled(time.Second, time.Second)) == 0 && progress.Any()
			})
		})
	}
}

// TestProgressSeesAStuckWorker checks that a job that is blocked in an I/O counts as stalled, although fio still prints
// statistics and its other job still writes. The job reads from a connection without data.
func TestProgressSeesAStuckWorker(t *testing.T) {
	for name, thread := range map[string][2]string{
		"forked job": {"--thread=0", "--thread=0"}, "thread": {"--thread=1", "--thread=1"}, "both": {"--thread=0", "--thread=1"},
	} {
		t.Run(name, func(t *testing.T) {
			port := freePort(t)
			h := startFio(t, thread[0], "--name=stuck", thread[1], "--rate=0", "--ioengine=net", "--protocol=tcp", "--listen", "--port="+itoa(port),
				"--rw=read", "--bs=4k", "--size=1g", "--time_based", "--runtime=86400")
			var feeder net.Conn
			eventually(t, "fio does not listen", func() (connected bool) {
				var err error
				feeder, err = new(net.Dialer).DialContext(t.Context(), "tcp", "127.0.0.1:"+itoa(port))
				return err == nil
			})
			defer func() { _ = feeder.Close() }()
			_, err := feeder.Write(make([]byte, 256<<10))
			must(t, err)
			awaitWorkers(t, h.PID(), 2)
			var progress Progress
			eventually(t, "no worker sleeps after it has read all that there is", func() bool {
				if !drained(t, port) {
					return false
				}
				progress = Progress{}
				must(t, progress.Observe(h.PID(), 0))
				awaitMove(t, h.PID())
				must(t, progress.Observe(h.PID(), time.Second))
				stalled := progress.Stalled(time.Second, time.Second)
				// A runnable worker still waits for a CPU: it has read all data, but has not yet noticed that there is no more.
				return len(stalled) == 1 && stalled[0].State == 'S'
			})
			progress = Progress{}
			must(t, progress.Observe(h.PID(), 0))
			for second := 1; second <= 3; second++ {
				awaitMove(t, h.PID())
				must(t, progress.Observe(h.PID(), time.Duration(second)*time.Second))
			}
			stalled := progress.Stalled(3*time.Second, 3*time.Second)
			if len(stalled) != 1 {
				t.Fatalf("stalled: %+v", stalled)
			}
			// With new data the worker runs again.
			_, err = feeder.Write(make([]byte, 8<<10))
			must(t, err)
			eventually(t, "it moves and counts as stalled", func() bool {
				must(t, progress.Observe(h.PID(), 4*time.Second))
				return len(progress.Stalled(4*time.Second, time.Second)) == 0
			})
		})
	}
}

// drained reports whether all data sent to a TCP port of this machine has been read.
func drained(t *testing.T, port int) bool {
	t.Helper()
	text, err := os.ReadFile("/proc/net/tcp")
	must(t, err)
	connections := 0
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line) // number, local and remote address, state, queues
		if suffix := fmt.Sprintf(":%04X", port); !strings.HasSuffix(fields[1], suffix) && !strings.HasSuffix(fields[2], suffix) || fields[3] != "01" {
			continue
		}
		connections++
		if fields[4] != "00000000:00000000" {
			return false
		}
	}
	return connections == 2 // both ends
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = listener.Close() }()
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatalf("%s is not a TCP address", listener.Addr())
	}
	return address.Port
}

// TestJobsDieWithTheirFio checks that fio's forked jobs are killed after fio dies. They have sessions of their own, so
// neither a signal to the process group nor the process tree reaches them then.
func TestJobsDieWithTheirFio(t *testing.T) {
	h := startFio(t, "--thread=0", "--numjobs=2")
	workers := awaitWorkers(t, h.PID(), 2)
	must(t, syscall.Kill(h.PID(), syscall.SIGKILL))
	<-h.Exited()
	for _, worker := range workers {
		if alive(worker.TID) {
			t.Errorf("job %d is still alive", worker.TID)
		}
	}
	if signalled(h.Wait()) != syscall.SIGKILL {
		t.Errorf("got %v", h.Wait())
	}
	if _, err := Workers(h.PID()); err == nil {
		t.Error("a process that is gone has workers")
	}
}

func TestProgressForgets(t *testing.T) {
	var progress Progress
	if progress.Any() || progress.Stalled(time.Hour, 0) != nil {
		t.Error("the zero value knows something")
	}
	first, second := Worker{TID: 7, Turns: 5, startTicks: 1}, Worker{TID: 7, Turns: 5, startTicks: 2}
	progress.observe([]Worker{first}, 0)
	progress.observe([]Worker{second}, time.Minute)
	if stalled := progress.Stalled(time.Minute, time.Second); len(stalled) != 0 {
		t.Error("a new task with an old number counts as the old one")
	}
	progress.observe([]Worker{{TID: 7, Turns: 5, OnCPU: 1, startTicks: 2}}, 2*time.Minute)
	if len(progress.Stalled(2*time.Minute, time.Second)) != 0 {
		t.Error("time on a CPU does not count as progress")
	}
	progress.observe(nil, 3*time.Minute)
	if progress.Any() {
		t.Error("workers that are gone are remembered")
	}
}

func TestSchedulingTexts(t *testing.T) {
	if onCPU, turns, err := parseSchedstat("123 456 7\n"); err != nil || onCPU != 123 || turns != 7 {
		t.Errorf("got %d, %d, %v", onCPU, turns, err)
	}
	if turns, err := parseSwitches("Name:\tfio\nvoluntary_ctxt_switches:\t20\nnonvoluntary_ctxt_switches:\t3\n"); err != nil || turns != 23 {
		t.Errorf("got %d, %v", turns, err)
	}
	for _, text := range []string{"", "1 2", "a b c", "1 2 -3"} {
		if _, _, err := parseSchedstat(text); err == nil {
			t.Errorf("%q was read", text)
		}
	}
	for _, text := range []string{"", "Name: x\n", "voluntary_ctxt_switches: x\n"} {
		if _, err := parseSwitches(text); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}
