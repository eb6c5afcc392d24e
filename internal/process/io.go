package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// IO counts the bytes and calls of a process's reads and writes on files, pipes and sockets. For sockets, it includes
// only the system calls read and write and their vectored forms. It does not include I/O through memory-mapped files.
//
// It includes the process's threads, even those that have exited, and the children that the process has reaped. So
// the last I/O of a child is in its parent's counters.
type IO struct {
	ReadBytes, WriteBytes uint64
	ReadCalls, WriteCalls uint64
	// StorageReadBytes counts the bytes fetched from storage for the process, by any kind of I/O. StorageWriteBytes
	// counts the bytes of the pages that it dirtied, and the bytes that it wrote with direct I/O. CancelledBytes counts
	// dirtied bytes that were never written because their file was truncated or removed. On file systems without a
	// device, none of these bytes are counted, except on network file systems.
	StorageReadBytes, StorageWriteBytes, CancelledBytes uint64
}

// fields returns pointers to all counters.
func (a *IO) fields() [7]*uint64 {
	return [...]*uint64{&a.ReadBytes, &a.WriteBytes, &a.ReadCalls, &a.WriteCalls, &a.StorageReadBytes, &a.StorageWriteBytes, &a.CancelledBytes}
}

// each applies the function to each pair of corresponding counters in a and b, and returns the results.
func (a IO) each(b IO, of func(a, b uint64) uint64) IO {
	var made IO
	to, from, other := made.fields(), a.fields(), b.fields()
	for i := range to {
		*to[i] = of(*from[i], *other[i])
	}
	return made
}

// Add adds two readings, counter by counter.
func (a IO) Add(b IO) IO { return a.each(b, func(a, b uint64) uint64 { return a + b }) }

// Max returns the larger value of each counter in two readings.
func (a IO) Max(b IO) IO { return a.each(b, func(a, b uint64) uint64 { return max(a, b) }) }

// Since returns the increase since an earlier reading, or 0 for a counter that has decreased.
func (a IO) Since(b IO) IO { return a.each(b, func(a, b uint64) uint64 { return max(a, b) - b }) }

// ReadIO reads the counters of a process, even if it has exited but has not been reaped. Other users' processes
// cannot be read.
func ReadIO(pid int) (IO, error) {
	counters, err := readIO(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return IO{}, fmt.Errorf("read the I/O statistics of process %d: %w", pid, err)
	}
	return counters, nil
}

// ReadThreadIO reads the counters of the calling thread alone, excluding those of the children that it has reaped. Call
// runtime.LockOSThread first.
func ReadThreadIO() (IO, error) {
	counters, err := readIO("/proc/thread-self/io")
	if err != nil {
		return IO{}, fmt.Errorf("read the I/O statistics of this thread: %w", err)
	}
	return counters, nil
}

func readIO(path string) (IO, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return IO{}, err
	}
	return parseIO(string(text))
}

func parseIO(text string) (IO, error) {
	var counters IO
	fields := map[string]*uint64{
		"rchar": &counters.ReadBytes, "wchar": &counters.WriteBytes,
		"syscr": &counters.ReadCalls, "syscw": &counters.WriteCalls,
	}
	// Some kernels do not provide the counters of storage I/O. Their absence is not an error, because they are only one of
	// several sources of byte counts.
	optional := map[string]*uint64{
		"read_bytes": &counters.StorageReadBytes, "write_bytes": &counters.StorageWriteBytes, "cancelled_write_bytes": &counters.CancelledBytes,
	}
	found := 0
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		field, required := fields[name], true
		if field == nil {
			field, required = optional[name], false
		}
		if field == nil {
			continue
		}
		number, err := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
		if err != nil {
			return IO{}, fmt.Errorf("%s: %w", name, err)
		}
		*field = number
		if required {
			found++
		}
	}
	if found != len(fields) {
		return IO{}, fmt.Errorf("found %d counters in %q, want %d", found, text, len(fields))
	}
	return counters, nil
}

// HasOpenBelow reports whether a process has a file open in a directory or below it.
func HasOpenBelow(pid int, directory string) bool {
	descriptors := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(descriptors)
	if err != nil {
		return false
	}
	for _, entry := range entries {
		path, err := os.Readlink(filepath.Join(descriptors, entry.Name()))
		if err == nil && strings.HasPrefix(path, directory+"/") {
			return true
		}
	}
	return false
}

// State returns a process's entry in the process table.
func State(pid int) (Process, error) { return readStat(fmt.Sprintf("/proc/%d/stat", pid)) }
