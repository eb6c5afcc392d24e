package agent

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/process"
)

func itoa(n int) string { return strconv.Itoa(n) }

func killByID(t *testing.T, pid string) {
	t.Helper()
	number, err := strconv.Atoi(pid)
	must(t, err)
	must(t, syscall.Kill(number, syscall.SIGKILL))
	eventually(t, "process "+pid+" lives", func() bool {
		text, err := os.ReadFile("/proc/" + pid + "/stat")
		return err != nil || strings.Contains(string(text), ") Z ")
	})
}

// twoJobs has two jobs that each write a file of 1 MiB at 2 MiB/s until they are stopped.
var twoJobs = strings.Replace(endlessWrite, "[job]", "numjobs=2\n[job]", 1)

// says waits for the live step to report a warning.
func (r *rig) says(warning string) {
	r.t.Helper()
	eventually(r.t, "it does not tell of "+warning, func() bool {
		records := rest(r.t, r.agent.log.After(0))
		return slices.ContainsFunc(records, func(record *agentapi.Record) bool { return record.GetNotice().GetWarning() == warning })
	})
}

// begun waits until all fio jobs do I/O. If a job is stopped or killed while it starts, fio waits for it and prints
// nothing.
func (r *rig) begun(jobs int) []process.Worker {
	r.t.Helper()
	workers := r.jobs(jobs)
	eventually(r.t, "there are no samples of all jobs", func() bool {
		bytes, _ := sampled(rest(r.t, r.agent.log.After(0)))
		return bytes > 0 && !slices.ContainsFunc(workers, func(job process.Worker) bool {
			done, err := process.ReadIO(job.PID)
			return err != nil || done.WriteBytes < 64<<10
		})
	})
	return workers
}

// TestStuckJob checks that a stuck job is reported once, is not killed, and loses no samples.
func TestStuckJob(t *testing.T) {
	t.Parallel()
	r := serve(t, func(a *Agent) { a.env.Timeouts.Stalled, a.env.Timeouts.Look = 2*time.Second, 20*time.Millisecond })
	load := request("a", twoJobs)
	load.GetFio().Jobs, load.GetFio().DurationNanoseconds = 2, int64(24*time.Hour)
	r.load(load)
	r.start("a", noLimit)
	job := r.begun(2)[0]
	must(t, syscall.Kill(job.PID, syscall.SIGSTOP))
	r.says("IOStalled")
	must(t, syscall.Kill(job.PID, syscall.SIGCONT))
	last := r.agent.log.Last()
	// fio held its dump back until the job continued.
	eventually(t, "there are no more samples", func() bool { return r.agent.log.Last() > last+2 })
	r.stop("a", "enough")
	ended, records := r.finished("a")
	if ended.GetOutcome() != agentapi.Outcome_OUTCOME_STOPPED {
		t.Fatalf("got %v", ended)
	}
	said := 0
	for _, record := range records {
		if notice := record.GetNotice(); notice.GetWarning() == "IOStalled" {
			said++
			// On a busy machine, the other job may also get no CPU time.
			if want := []string{"1 of fio's jobs completed no I/O for 2s", "2 of fio's jobs completed no I/O for 2s"}; !slices.Contains(want, notice.GetMessage()) {
				t.Errorf("it says %q, want one of %q", notice.GetMessage(), want)
			}
		}
	}
	if said != 1 {
		t.Errorf("it said %d times that a job is stuck", said)
	}
	bytes, operations := sums(ended.GetOperations())
	if got, gotCount := sampled(records); bytes == 0 || got != bytes || gotCount != operations {
		t.Errorf("fio counts %d bytes in %d operations, the samples %d in %d", bytes, operations, got, gotCount)
	}
}

// TestHungJob checks that a job that is still stuck after the step's stall timeout is killed, and that the step fails
// with reason Hung.
func TestHungJob(t *testing.T) {
	t.Parallel()
	r := serve(t, func(a *Agent) { a.env.Timeouts.Stalled, a.env.Timeouts.Look = time.Second, 20*time.Millisecond })
	load := request("a", twoJobs)
	load.StallTimeoutNanoseconds = int64(2 * time.Second)
	r.load(load)
	r.start("a", noLimit)
	jobs := r.begun(2)
	must(t, syscall.Kill(jobs[0].PID, syscall.SIGSTOP))
	ended, records := r.finished("a")
	if ended.GetOutcome() != agentapi.Outcome_OUTCOME_FAILED || ended.GetReason() != "Hung" ||
		!strings.Contains(ended.GetMessage(), "one job completed no I/O for 2s") {
		t.Errorf("got %v", ended)
	}
	if _, said := notices(ended, records)["IOStalled"]; !said {
		t.Errorf("the job was killed without an earlier warning: %v", records)
	}
	for _, job := range jobs {
		text, err := os.ReadFile("/proc/" + itoa(job.PID) + "/stat")
		if err == nil && !strings.Contains(string(text), ") Z ") {
			t.Errorf("job %d is still running: %s", job.PID, text)
		}
	}
}

// TestStuckWhenStopped checks that a tool with a stuck job is killed if it has not exited within the stop timeout.
func TestStuckWhenStopped(t *testing.T) {
	t.Parallel()
	r := serve(t, func(a *Agent) { a.env.Timeouts.Stop, a.env.Timeouts.Look = 2*time.Second, 20*time.Millisecond })
	r.load(request("a", endlessWrite))
	r.start("a", noLimit)
	job := r.begun(1)[0]
	must(t, syscall.Kill(job.PID, syscall.SIGSTOP))
	r.stop("a", "enough")
	ended, _ := r.finished("a")
	if ended.GetReason() != "Hung" || !strings.Contains(ended.GetMessage(), "it was asked to stop (enough) but completed no I/O for 2s") {
		t.Errorf("got %v", ended)
	}
}

// TestStuckJobThatComesBack checks that a tool is not killed, and its results count, if its stuck job continues within
// the stop timeout.
func TestStuckJobThatComesBack(t *testing.T) {
	t.Parallel()
	r := serve(t, func(a *Agent) { a.env.Timeouts.Stalled, a.env.Timeouts.Look = 10*time.Millisecond, 10*time.Millisecond })
	load := request("a", endlessWrite)
	load.GetFio().DurationNanoseconds = int64(24 * time.Hour)
	r.load(load)
	r.start("a", noLimit)
	job := r.begun(1)[0]
	must(t, syscall.Kill(job.PID, syscall.SIGSTOP))
	r.stop("a", "enough was measured")
	r.says("IOStalled")
	must(t, syscall.Kill(job.PID, syscall.SIGCONT))
	ended, records := r.finished("a")
	if ended.GetOutcome() != agentapi.Outcome_OUTCOME_STOPPED || ended.GetReason() != tool.ReasonStopped || ended.GetMessage() != "enough was measured" {
		t.Errorf("got %v", ended)
	}
	bytes, _ := sums(ended.GetOperations())
	if got, _ := sampled(records); bytes == 0 || got != bytes {
		t.Errorf("samples add up to %d bytes, fio says %d", got, bytes)
	}
}

// TestKilledTool checks that the step ends and reports the reason if any process of fio is killed.
func TestKilledTool(t *testing.T) {
	t.Parallel()
	for name, victim := range map[string]func(*rig) int{
		"main": func(r *rig) int { return r.tool().PID() },
		"job":  func(r *rig) int { return r.begun(2)[1].PID },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := serve(t, nil)
			r.load(request("a", twoJobs))
			r.start("a", noLimit)
			r.jobs(2)
			must(t, syscall.Kill(victim(r), syscall.SIGKILL))
			if ended, _ := r.finished("a"); ended.GetOutcome() != agentapi.Outcome_OUTCOME_FAILED || ended.GetReason() != "Killed" {
				t.Errorf("got %v", ended)
			}
		})
	}
}
