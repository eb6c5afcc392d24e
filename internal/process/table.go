package process

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ticksPerSecond is USER_HZ, the unit of times in /proc. It is 100 on every Linux platform that Go supports,
// whatever the kernel's timer frequency.
const ticksPerSecond = 100

// Process is an entry of the process table.
type Process struct {
	PID, PPID, PGID int
	Command         string
	// State is the process state as a letter, as in /proc/PID/stat: for example R, S, D (uninterruptible sleep, usually
	// blocked on an I/O) or Z (exited, not reaped).
	State byte
	// StartTicks distinguishes a process from a later one with the same PID.
	StartTicks uint64
	// CPU is the CPU time of the process and of the children that it has reaped.
	CPU time.Duration
}

// ended reports whether the process has exited, even if it has not been reaped.
func (p Process) ended() bool { return p.State == 'Z' || p.State == 'X' }

// String formats the process for error messages.
func (p Process) String() string {
	return fmt.Sprintf("%d (%s, state %c)", p.PID, p.Command, p.State)
}

// readStat reads one entry of the table: /proc/<pid>/stat or /proc/<pid>/task/<tid>/stat.
func readStat(path string) (Process, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Process{}, err
	}
	found, err := parseStat(text)
	if err != nil {
		return Process{}, fmt.Errorf("read %s: %w", path, err)
	}
	return found, nil
}

// Indexes of fields in /proc/<pid>/stat after the command: their numbers in proc_pid_stat(5) minus 3.
const (
	statState = iota
	statPPID
	statPGID
	statUserTime       = 11
	statStart          = 19
	statFieldsRequired = 20
)

// parseStat parses /proc/<pid>/stat. The command is in parentheses and may contain spaces and parentheses itself, so
// it ends at the last parenthesis.
func parseStat(text []byte) (Process, error) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 1 || end < open {
		return Process{}, fmt.Errorf("%q has no command", text)
	}
	fields := strings.Fields(string(text[end+1:]))
	if len(fields) < statFieldsRequired || len(fields[statState]) != 1 {
		return Process{}, fmt.Errorf("%d fields in %q, want %d", len(fields), text, statFieldsRequired)
	}
	numbers := make([]int64, statFieldsRequired)
	for i, field := range fields[:statFieldsRequired] {
		if i == statState {
			continue
		}
		// Accept an unsigned field that does not fit into an int64, because no such field is used.
		value, err := strconv.ParseInt(field, 10, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return Process{}, fmt.Errorf("field %d of %q: %w", i+3, text, err)
		}
		numbers[i] = value
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text[:open])))
	if err != nil {
		return Process{}, fmt.Errorf("parse the PID of %q: %w", text, err)
	}
	var ticks int64
	// Add up user and system time of the process and of its reaped children.
	for _, value := range numbers[statUserTime : statUserTime+4] {
		ticks += value
	}
	return Process{
		PID: pid, PPID: int(numbers[statPPID]), PGID: int(numbers[statPGID]),
		Command: string(text[open+1 : end]), State: fields[statState][0],
		StartTicks: uint64(numbers[statStart]), //nolint:gosec // a time since boot
		CPU:        time.Duration(ticks) * (time.Second / ticksPerSecond),
	}, nil
}

// table reads all visible processes. It skips processes that exit while it reads the table.
func table() ([]Process, error) {
	directories, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	if len(directories) == 0 {
		return nil, errors.New("list processes: found none in /proc; check that it is mounted")
	}
	processes := make([]Process, 0, len(directories))
	for _, directory := range directories {
		found, err := readStat(filepath.Join(directory, "stat"))
		if isGone(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list processes: %w", err)
		}
		processes = append(processes, found)
	}
	return processes, nil
}

// isGone reports whether an error from /proc means that the process has exited.
func isGone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
}

// Descendants lists all descendants of a process, parents before their children. It includes exited processes that
// were not reaped, but not the process itself.
func Descendants(pid int) ([]Process, error) {
	processes, err := table()
	if err != nil {
		return nil, err
	}
	return descendantsOf(processes, pid), nil
}

func descendantsOf(processes []Process, pid int, except ...int) []Process {
	children := map[int][]Process{}
	for _, p := range processes {
		children[p.PPID] = append(children[p.PPID], p)
	}
	spared := map[int]bool{}
	for _, exception := range except {
		spared[exception] = true
	}
	var found []Process
	queue := []int{pid}
	for len(queue) > 0 {
		for _, child := range children[queue[0]] {
			// Skip the processes to exclude and those that were already found. The table is not an atomic snapshot, so
			// a reused PID could create a cycle.
			if !spared[child.PID] {
				spared[child.PID] = true
				found = append(found, child)
				queue = append(queue, child.PID)
			}
		}
		queue = queue[1:]
	}
	return found
}
