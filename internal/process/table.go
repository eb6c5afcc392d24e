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

// ticksPerSecond is USER_HZ, the unit of times in /proc; Linux has 100 on every machine that Go
// runs on, whatever the kernel's own clock.
const ticksPerSecond = 100

// Process is a line of the process table.
type Process struct {
	PID, PPID, PGID, Session int
	Command                  string
	// State is the kernel's letter: R, S, D (inside an I/O), Z (ended, not waited for) ...
	State byte
	// StartTicks tells a process from a later one with the same PID.
	StartTicks uint64
	// CPU is what the process used, and what those of its children used that were waited for.
	CPU time.Duration
}

// ended is true for what is only waiting to be collected.
func (p Process) ended() bool { return p.State == 'Z' || p.State == 'X' }

// String is the process as an error message names it.
func (p Process) String() string {
	return fmt.Sprintf("%d (%s, state %c)", p.PID, p.Command, p.State)
}

// readStat reads one line of the table: /proc/<pid>/stat or /proc/<pid>/task/<tid>/stat.
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

// Places in /proc/<pid>/stat after the command, proc_pid_stat(5) minus 3.
const (
	statState = iota
	statPPID
	statPGID
	statSession
	statUserTime       = 11
	statStart          = 19
	statFieldsRequired = 20
)

// parseStat reads the form of /proc/<pid>/stat. The command stands in parentheses and may hold
// spaces and parentheses itself, so its end is the last one.
func parseStat(text []byte) (Process, error) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 1 || end < open {
		return Process{}, fmt.Errorf("no command in %q", text)
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
		// Some fields are unsigned and may not fit; none of those that are read.
		value, err := strconv.ParseInt(field, 10, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return Process{}, fmt.Errorf("field %d of %q: %w", i+3, text, err)
		}
		numbers[i] = value
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text[:open])))
	if err != nil {
		return Process{}, fmt.Errorf("the PID of %q: %w", text, err)
	}
	var ticks int64
	for _, value := range numbers[statUserTime : statUserTime+4] { // user, system, and the children's
		ticks += value
	}
	return Process{
		PID: pid, PPID: int(numbers[statPPID]), PGID: int(numbers[statPGID]), Session: int(numbers[statSession]),
		Command: string(text[open+1 : end]), State: fields[statState][0],
		StartTicks: uint64(numbers[statStart]), //nolint:gosec // a time since the boot
		CPU:        time.Duration(ticks) * (time.Second / ticksPerSecond),
	}, nil
}

// table reads all processes that can be seen. Those that end meanwhile are left out.
func table() ([]Process, error) {
	directories, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	if len(directories) == 0 {
		return nil, errors.New("list processes: /proc shows none; is it mounted?")
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

// isGone is true for the errors by which /proc says that a process has ended.
func isGone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
}

// Descendants lists all processes below one, parents before their children, ended ones that nobody
// has waited for included. The process itself is not among them.
func Descendants(pid int) ([]Process, error) {
	processes, err := table()
	if err != nil {
		return nil, err
	}
	return below(processes, pid), nil
}

func below(processes []Process, pid int, except ...int) []Process {
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
			// The table is not read in one instant, so a recycled PID could close a circle.
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

// TreeCPU is the processor time that a process and all below it used so far, those that ended and
// were waited for included. It counts in hundredths of a second.
func TreeCPU(pid int) (time.Duration, error) {
	root, err := readStat(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("read the CPU time of process %d: %w", pid, err)
	}
	descendants, err := Descendants(pid)
	if err != nil {
		return 0, err
	}
	sum := root.CPU
	for _, p := range descendants {
		sum += p.CPU
	}
	return sum, nil
}
