package process

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Worker is a part of a tool that does I/O: a forked job or a thread.
type Worker struct {
	PID, TID int
	Command  string
	// State is the worker's state as a letter, as in /proc/PID/stat. D means uninterruptible sleep, usually blocked on
	// an I/O.
	State byte
	// OnCPU is the CPU time of the worker, and Turns is the number of times that the worker was scheduled. At least one
	// of them increases with every completed I/O, however fast the I/O is.
	OnCPU time.Duration
	Turns uint64

	startTicks uint64
}

// Workers lists the tasks that do the I/O of a fio process, oldest first.
//
// fio forks a process per job or, with thread=1, starts a thread per job. Its main thread sleeps and supervises them.
// The first other thread of the main process is fio's helper, which prints the statistics and always makes progress. A
// forked job counts as one worker with all its threads. One fio process can have both kinds of jobs.
func Workers(pid int) ([]Worker, error) {
	processes, err := table()
	if err != nil {
		return nil, err
	}
	var workers []Worker
	for _, p := range processes {
		if p.PPID != pid || p.ended() {
			continue
		}
		tasks, err := tasksOf(p.PID)
		if isGone(err) || len(tasks) == 0 {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list the workers of process %d: %w", pid, err)
		}
		workers = append(workers, merge(p, tasks))
	}
	tasks, err := tasksOf(pid)
	if err != nil {
		return nil, fmt.Errorf("list the workers of process %d: %w", pid, err)
	}
	tasks = slices.DeleteFunc(tasks, func(w Worker) bool { return w.TID == pid })
	slices.SortFunc(tasks, older)
	workers = append(workers, tasks[min(1, len(tasks)):]...)
	slices.SortFunc(workers, older)
	return workers, nil
}

func older(a, b Worker) int {
	return cmp.Or(cmp.Compare(a.startTicks, b.startTicks), cmp.Compare(a.TID, b.TID))
}

// merge combines the tasks of a process into one worker, which makes progress if any task does.
func merge(p Process, tasks []Worker) Worker {
	whole := Worker{PID: p.PID, TID: p.PID, Command: p.Command, State: p.State, startTicks: p.StartTicks}
	for _, task := range tasks {
		whole.OnCPU += task.OnCPU
		whole.Turns += task.Turns
		if task.State == 'D' {
			whole.State = 'D'
		}
	}
	return whole
}

func tasksOf(pid int) ([]Worker, error) {
	directory := fmt.Sprintf("/proc/%d/task", pid)
	entries, err := os.ReadDir(directory)
	if err != nil {
		return nil, err
	}
	var tasks []Worker
	for _, entry := range entries {
		task, err := readTask(filepath.Join(directory, entry.Name()))
		if isGone(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if task.State == 'Z' || task.State == 'X' {
			continue
		}
		task.PID = pid
		tasks = append(tasks, task)
	}
	return tasks, nil
}

func readTask(directory string) (Worker, error) {
	stat, err := readStat(filepath.Join(directory, "stat"))
	if err != nil {
		return Worker{}, err
	}
	worker := Worker{TID: stat.PID, Command: stat.Command, State: stat.State, startTicks: stat.StartTicks}
	text, err := os.ReadFile(filepath.Join(directory, "schedstat"))
	if err == nil {
		worker.OnCPU, worker.Turns, err = parseSchedstat(string(text))
	} else if errors.Is(err, fs.ErrNotExist) {
		// Without schedstat, either the kernel has no scheduler statistics or the task has exited. In the first case,
		// use the CPU time and the context switches. In the second case, reading the status fails.
		worker.OnCPU = stat.CPU
		if text, err = os.ReadFile(filepath.Join(directory, "status")); err == nil {
			worker.Turns, err = parseSwitches(string(text))
		}
	}
	if err != nil {
		return Worker{}, fmt.Errorf("read the scheduling statistics of %s: %w", directory, err)
	}
	return worker, nil
}

// parseSchedstat reads the time on a CPU, the time waiting for a CPU (both in nanoseconds), and the number of time
// slices.
func parseSchedstat(text string) (onCPU time.Duration, turns uint64, err error) {
	fields := strings.Fields(text)
	if len(fields) != 3 {
		return 0, 0, fmt.Errorf("%q does not have three numbers", text)
	}
	nanoseconds, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return 0, 0, err
	}
	turns, err = strconv.ParseUint(fields[2], 10, 64)
	return time.Duration(nanoseconds), turns, err
}

// parseSwitches adds up voluntary and involuntary context switches in /proc/<pid>/status.
func parseSwitches(text string) (uint64, error) {
	var sum uint64
	found := false
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		if key != "voluntary_ctxt_switches" && key != "nonvoluntary_ctxt_switches" {
			continue
		}
		count, err := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", key, err)
		}
		sum += count
		found = true
	}
	if !found {
		return 0, errors.New("no context switches")
	}
	return sum, nil
}
