package fio

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/measure"
)

// These are the product's assumptions about fio. Each is tested once with the fio of this machine; other tests that
// depend on fio's behavior use recorded output in testdata/runs.
//
//	after SIGINT it says so, prints all results and exits with 128    TestContractInterrupt
//	samples add up to the result, even if a ramp resets the totals    TestContractSamplesAddUp
//	a stuck job delays the dumps; nothing is lost or counted twice    TestContractStuckJob
//	its runtime begins when the job file arrives, however late        TestContractHeldJob
//	its engines for files do and count one operation with each file   TestContractSmallFiles
//	its exit codes and messages match the recordings                  TestContractRecordings
//	a signal that kills fio also ends its jobs, forked ones included  internal/process TestJobsDieWithTheirFio
//	jobs are children or threads; one inside an I/O uses no CPU       internal/process TestProgressSeesAStuckWorker
//	it ends at whatever moment it is interrupted or killed            internal/agent TestStopAtAnyMoment
//	it waits for a job of which one part was killed                   internal/agent TestKilledTool
//	it creates the files, bytes and operations that a job requests    *WithRealFio

// endlessJob returns a job file with jobs that run until they are stopped.
func endlessJob(jobs, ramp int) string {
	return fmt.Sprintf("[global]\nioengine=psync\nsize=4m\nbs=64k\nrw=write\nrate=10m\nnumjobs=%d\ntime_based\nruntime=86400\nramp_time=%d\n"+
		"fallocate=none\ngroup_reporting\nlat_percentiles=1\nfilename_format=data.$jobnum.$filenum\n[job]\n", jobs, ramp)
}

// dumped waits until fio has printed the given number of further dumps.
func (l *liveFio) dumped(t *testing.T, more int64) {
	t.Helper()
	for until := l.read.Load() + more; l.read.Load() < until; time.Sleep(5 * time.Millisecond) {
		if t.Context().Err() != nil {
			return
		}
	}
}

func (l *liveFio) signal(t *testing.T, pid int, signal syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, signal); err != nil {
		t.Fatal(err)
	}
}

// interrupt sends SIGINT to fio and returns its result.
func (l *liveFio) interrupt(t *testing.T) Result {
	t.Helper()
	l.signal(t, l.command.Process.Pid, syscall.SIGINT)
	output, exit := l.wait(t)
	result := Final(output, exit, l.stderr.String(), Expectation{MeasuredMilliseconds: 86_400_000})
	if exit != (Exit{Code: stoppedCode}) || result.Outcome != Stopped {
		t.Errorf("%+v: %v %s", exit, result.Outcome, result.Message)
	}
	return result
}

const often = 100 * time.Millisecond

func TestContractInterrupt(t *testing.T) {
	t.Parallel()
	live := startFio(t, t.TempDir(), endlessJob(2, 0), Arguments(often)...)
	live.dumped(t, 3)
	result := live.interrupt(t)
	if result.Snapshot.Operations[measure.Write].Bytes == 0 || !strings.Contains(live.stderr.String()+result.ToolMessages, "terminating on signal 2") {
		t.Errorf("it wrote %+v and says %q, %q", result.Snapshot.Operations[measure.Write].Counter, live.stderr.String(), result.ToolMessages)
	}
	checkSamples(t, live, sampled(t, live, SamplerOptions{Jobs: 2}))
}

func TestContractSamplesAddUp(t *testing.T) {
	t.Parallel()
	live := startFio(t, t.TempDir(), strings.Replace(endlessJob(2, 1), "86400", "3", 1), Arguments(often)...)
	output, exit := live.wait(t)
	checkSamples(t, live, sampled(t, live, SamplerOptions{Jobs: 2, WarmUp: time.Second}))
	result := Final(output, exit, live.stderr.String(), Expectation{MeasuredMilliseconds: 3000, WarmUpMilliseconds: 1000, Jobs: 2})
	if result.Outcome != Complete || result.Snapshot.Operations[measure.Write].Bytes == 0 {
		t.Errorf("%v: %s", result.Outcome, result.Message)
	}
}

// TestContractStuckJob checks that no I/O is lost or counted twice if a stuck job delays the dumps. To fio, a job
// stopped by SIGSTOP looks like one in a long I/O.
func TestContractStuckJob(t *testing.T) {
	t.Parallel()
	live := startFio(t, t.TempDir(), endlessJob(4, 0), Arguments(often)...)
	live.dumped(t, 3)
	job := live.jobProcesses(t)[0]
	live.signal(t, job, syscall.SIGSTOP)
	time.Sleep(5 * often) // Several dumps become due in this time.
	live.signal(t, job, syscall.SIGCONT)
	live.dumped(t, 3)
	live.interrupt(t)
	checkSamples(t, live, sampled(t, live, SamplerOptions{Jobs: 4}))
}

func TestContractHeldJob(t *testing.T) {
	t.Parallel()
	held := &heldJob{text: strings.NewReader(strings.Replace(endlessJob(1, 0), "86400", "1", 1))}
	live := startFioOn(t, t.TempDir(), held, Arguments(often)...)
	output, exit := live.wait(t)
	if result := Final(output, exit, live.stderr.String(), Expectation{MeasuredMilliseconds: 1000}); result.Outcome != Complete {
		t.Errorf("%v: %s", result.Outcome, result.Message)
	}
}

// heldJob is a job file that arrives late: the delay is longer than the job's runtime.
type heldJob struct {
	text *strings.Reader
	held bool
}

func (h *heldJob) Read(p []byte) (int, error) {
	if !h.held {
		h.held = true
		time.Sleep(1500 * time.Millisecond)
	}
	return h.text.Read(p)
}

// TestContractRecordings checks that runs that need no preparation still end as in their recordings.
func TestContractRecordings(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"bad-option", "bad-value", "bad-engine", "no-job", "write"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recorded := readRecording(t, name)
			live := startFio(t, t.TempDir(), string(readFile(t, filepath.Join("testdata/runs", name+".job"))))
			output, exit := live.wait(t)
			was, _ := ReadOutput(strings.NewReader(string(recorded.stdout)))
			got, want := Final(output, exit, live.stderr.String(), Expectation{}), Final(was, recorded.exit, recorded.stderr, Expectation{})
			if exit != recorded.exit || got.Outcome != want.Outcome || got.Failure != want.Failure {
				t.Errorf("%+v, %v %v: %s\nwant %+v, %v %v", exit, got.Outcome, got.Failure, got.Message, recorded.exit, want.Outcome, want.Failure)
			}
		})
	}
}
