package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/dataset"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/process"
	"github.com/storagebench/storagebench/internal/record"
)

// runnerEnvironment is the environment variable that marks a process as a runner started by a guard.
const runnerEnvironment = "STORAGEBENCH_LOCAL_RUNNER"

// The file descriptors that a runner inherits.
const (
	fdJournal        = 3
	fdRunnerLifeline = 4
)

// abandonTimeout limits how long the agents of a killed runner may take to remove their data and exit.
const abandonTimeout = 60 * time.Second

// InRunner reports whether a guard started this process. If so, it returns the journal to write to, and a context that
// is canceled when the guard dies or one of stopSignals arrives.
func InRunner(parent context.Context, stopSignals []os.Signal) (
	ctx context.Context, journal *Journal, stop func(), ok bool,
) {
	if os.Getenv(runnerEnvironment) == "" {
		return parent, nil, func() {}, false
	}
	_ = os.Unsetenv(runnerEnvironment)
	syscall.CloseOnExec(fdJournal)
	syscall.CloseOnExec(fdRunnerLifeline)
	ctx, cancel := context.WithCancelCause(parent)
	lifeline := os.NewFile(fdRunnerLifeline, "lifeline")
	go func() {
		_, _ = io.Copy(io.Discard, lifeline)
		cancel(errors.New("the command was killed"))
	}()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, stopSignals...)
	go func() {
		cancel(fmt.Errorf("the command received the signal: %s", <-signals))
	}()
	return ctx, NewJournal(os.NewFile(fdJournal, "journal")), func() { signal.Stop(signals) }, true
}

// Guard starts this program again as the runner, waits for it, and returns its exit code. If the runner is killed
// before it has shown the results, Guard calls `dead` with the last state of each run that the runner had begun, if
// any, and returns the exit code that `dead` returns. If the last of these runs had not ended, Guard first waits for
// the agents to exit and removes the remaining data.
func Guard(arguments []string, stopSignals []os.Signal, dead func(runs []Result, left error) int) (int, error) {
	if err := process.SetSubreaper(); err != nil {
		return 0, fmt.Errorf("become the subreaper of orphaned processes: %w", err)
	}
	program, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("find the path of this program: %w", err)
	}
	journal, journalWriter, err := os.Pipe()
	if err != nil {
		return 0, fmt.Errorf("create a pipe to the runner: %w", err)
	}
	lifelineReader, lifeline, err := os.Pipe()
	if err != nil {
		return 0, fmt.Errorf("create a pipe to the runner: %w", err)
	}
	defer func() { _ = lifeline.Close() }()
	runner := exec.Command(program, arguments...)
	runner.Env = append(os.Environ(), runnerEnvironment+"=1")
	runner.Stdin, runner.Stdout, runner.Stderr = os.Stdin, os.Stdout, os.Stderr
	runner.ExtraFiles = []*os.File{journalWriter, lifelineReader}
	// A terminal sends its signals, such as SIGINT on Ctrl-C, to both guard and runner. The guard also forwards
	// stopSignals to the runner, because a command such as kill sends them only to the guard.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, stopSignals...)
	if err := runner.Start(); err != nil {
		return 0, fmt.Errorf("start the runner: %w", err)
	}
	go func() {
		for got := range signals {
			_ = runner.Process.Signal(got)
		}
	}()
	_ = journalWriter.Close()
	_ = lifelineReader.Close()
	entry, journalErr := readJournal(journal)
	waitErr := runner.Wait()
	if code := runner.ProcessState.ExitCode(); entry.Printed || code >= 0 && waitErr == nil || code > 0 && entry.Run == nil {
		return max(code, 0), nil
	}
	state, problems := runner.ProcessState.String(), []error{journalErr}
	run := entry.Run
	if !entry.Ended {
		left := clean(entry.Entry)
		run, problems = interruptedRun(entry.Entry, state, left), append(problems, left)
	}
	if run == nil {
		return dead(entry.earlier, errors.Join(problems...)), nil
	}
	if entry.Ended || meta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionComplete) {
		problems = append(problems, fmt.Errorf(
			"the process that conducted the run died (%s) after the run's last step, but before all results were shown", state))
	}
	return dead(append(entry.earlier, Result{run, entry.series}), errors.Join(problems...)), nil
}

// clean waits for the agents of a dead runner, kills those that do not exit, and removes their data. It does not touch
// directories that another run has locked, because that run reuses or removes the data.
func clean(entry Entry) error {
	deadline := time.Now().Add(abandonTimeout)
	for time.Now().Before(deadline) {
		below, err := process.Descendants(os.Getpid())
		if err == nil && len(running(below)) == 0 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(context.Background(), abandonTimeout)
	defer cancel()
	problems := []error{process.KillDescendants(ctx, os.Getpid())}
	for _, data := range entry.Data {
		if err := sweepUnused(ctx, data, entry.Run); !errors.Is(err, dataset.ErrLocked) {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// sweepUnused removes the data of a dead run. If another run has locked the directory, it removes nothing, and the
// error wraps dataset.ErrLocked.
func sweepUnused(ctx context.Context, data Data, run *v1alpha1.BenchmarkRun) error {
	mount, err := dataset.ProveMount(data.Path, dataset.Expectation{Device: data.Device, Inode: data.Inode})
	if err != nil {
		return err
	}
	lock, err := acquireLock(mount, data.BenchmarkUID, run)
	switch {
	case errors.Is(err, dataset.ErrLocked):
		return err
	case err != nil:
		// The directory cannot be locked, for example because the file system is full. Remove the data without a lock.
		return dataset.Sweep(ctx, mount, data.BenchmarkUID, string(run.UID))
	}
	return errors.Join(dataset.Sweep(ctx, mount, data.BenchmarkUID, string(run.UID)), lock.Release())
}

func running(processes []process.Process) []process.Process {
	var found []process.Process
	for _, p := range processes {
		if p.State != 'Z' {
			found = append(found, p)
		}
	}
	return found
}

// NeverStarted returns the record of a run whose runner died before the run began. It returns nil if it cannot create
// one.
func NeverStarted(options Options) *v1alpha1.BenchmarkRun {
	run, err := newRun(options)
	if err != nil {
		return nil
	}
	return interruptedRun(Entry{Run: run}, "before the run started", nil)
}

// interruptedRun returns the record of a run whose runner died, or nil if the runner reported no run.
func interruptedRun(entry Entry, state string, left error) *v1alpha1.BenchmarkRun {
	if entry.Run == nil {
		return nil
	}
	var data []v1alpha1.DataLeft
	if left != nil {
		// A DataLeft entry must have a path. If the run has no directories, the error can only be about processes that
		// could not be killed, so use the path /proc.
		path := "/proc"
		if len(entry.Data) > 0 {
			path = entry.Data[0].Path
		}
		data = append(data, v1alpha1.DataLeft{Path: path, Reason: left.Error()})
	}
	why := decide.Failure{Reason: v1alpha1.ReasonInternalError,
		Message: "the process that conducted the run died (" + state + "); results are available only up to that time"}
	record.Interrupted(entry.Run, why, data, time.Now())
	return entry.Run
}
