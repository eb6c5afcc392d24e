package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// process identifies a process uniquely. The PID alone may be reused by another process.
type process struct {
	PID int `json:"pid"`
	// StartTicks is the start time of the process, in clock ticks since the machine booted.
	StartTicks uint64 `json:"startTicks"`
	// BootID is the kernel's random ID of that boot.
	BootID string `json:"bootID"`
}

// identify returns the identity of a running process.
func identify(pid int) (process, error) {
	stat, err := readStat(pid)
	if err != nil {
		return process{}, err
	}
	boot, err := bootID()
	if err != nil {
		return process{}, err
	}
	return process{PID: pid, StartTicks: stat.startTicks, BootID: boot}, nil
}

// alive reports whether the process is still running. A zombie is not.
func (p process) alive() bool {
	if p.PID <= 0 {
		return false
	}
	boot, err := bootID()
	if err != nil || boot != p.BootID {
		return false
	}
	stat, err := readStat(p.PID)
	return err == nil && stat.startTicks == p.StartTicks && stat.state != 'Z' && stat.state != 'X'
}

// kill kills the process. It does nothing if the process has already ended, even if its PID has been reused.
func (p process) kill() error {
	// The handle refers to the process that has the PID now. Checking the identity only afterwards ensures that the signal
	// goes to the process that was checked.
	handle, err := os.FindProcess(p.PID)
	if err != nil {
		return fmt.Errorf("finding process %d: %w", p.PID, err)
	}
	defer handle.Release() //nolint:errcheck // nothing depends on it
	if !p.alive() {
		return nil
	}
	if err := handle.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("killing process %d: %w", p.PID, err)
	}
	return nil
}

// stat holds fields of /proc/PID/stat.
type stat struct {
	name       string
	state      byte
	parent     int
	startTicks uint64
}

func readStat(pid int) (stat, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, fmt.Errorf("looking at process %d: %w", pid, err)
	}
	return parseStat(data)
}

// parseStat reads a line of /proc/PID/stat. The name is in parentheses and may itself contain spaces and parentheses.
func parseStat(data []byte) (stat, error) {
	open, closing := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 0 || closing < open {
		return stat{}, fmt.Errorf("no name of a process in %q", data)
	}
	fields := strings.Fields(string(data[closing+1:]))
	if len(fields) < 20 || len(fields[0]) != 1 { // of proc(5), fields 3 to 22
		return stat{}, fmt.Errorf("too few fields in %q", data)
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return stat{}, fmt.Errorf("reading the parent in %q: %w", data, err)
	}
	ticks, err := strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return stat{}, fmt.Errorf("reading the start time in %q: %w", data, err)
	}
	return stat{name: string(data[open+1 : closing]), state: fields[0][0], parent: parent, startTicks: ticks}, nil
}

func bootID() (string, error) {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("reading which start of the machine this is: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}
