package convert

import (
	"fmt"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// diskspdPatternBytes is the number of bytes of DiskSpd's pattern (0, 1, ... 255) that are copied to the option
// buffer_pattern.
const diskspdPatternBytes = 64

// content converts -Z and its variants, which set the content of the written data.
func (w *diskspdWriter) content() {
	t := w.target
	switch option := w.given("Z", "-Z"); {
	case !t.writes():
		if t.zero || t.buffer > 0 || w.span.randomWrites {
			w.notes.unneeded(option, "sets the content of writes, but the load writes nothing")
		}
	case t.buffer > 0 && t.bufferFile != "":
		w.notes.differs(option, "a profile cannot take its data from a file; here the data is random",
			"set compressibility to match the file")
		w.profile.RefillBuffers = new(true)
	case t.buffer > 0:
		w.notes.differs(option, fmt.Sprintf("DiskSpd writes one buffer of %d random bytes repeatedly; here every write has new data", t.buffer), "")
		w.profile.RefillBuffers = new(true)
	case t.zero:
		w.profile.Options["zero_buffers"] = "1"
		w.profile.Options["scramble_buffers"] = "0"
	case w.span.randomWrites:
		w.profile.RefillBuffers = new(true)
	default:
		w.profile.Options["buffer_pattern"] = v1alpha1.FioOptionValue(diskspdPattern())
		w.profile.Options["scramble_buffers"] = "0"
		w.notes.differs("no -Z", fmt.Sprintf("DiskSpd writes the bytes 0 to 255 repeatedly; buffer_pattern holds only the first %d of them. Both patterns favour a store that compresses or deduplicates",
			diskspdPatternBytes), "for incompressible data, remove buffer_pattern and scramble_buffers and set refillBuffers to true")
	}
}

func diskspdPattern() string {
	var text strings.Builder
	text.WriteString("0x")
	for i := range diskspdPatternBytes {
		fmt.Fprintf(&text, "%02x", i)
	}
	return text.String()
}

// times converts -d, -W and -C, which set the duration, the warm-up and the cool-down.
func (w *diskspdWriter) times() {
	s := w.span
	switch option := w.given("d", "-d10, the default of -d"); {
	case s.duration == 0:
		w.notes.elsewhere(option, "DiskSpd runs until it is stopped", "set a duration in the phase")
	default:
		w.notes.elsewhere(option, "the phase sets the duration", fmt.Sprintf("set steady.duration to %ds", s.duration))
	}
	if s.warmUp > 0 {
		w.notes.elsewhere(w.given("W", "-W5, the default of -W"), "the phase sets the warm-up", fmt.Sprintf("set steady.warmUp to %ds", s.warmUp))
	}
	if s.coolDown > 0 {
		w.notes.differs(w.given("C", "-C"), "the load does not continue after the measurement, because the common window of all clients ends when the first client finishes", "")
	}
}

// machine converts the options that concern the client's machine (-a, -n, -I, -l and -x), and -N, which sets how mapped
// memory is flushed.
func (w *diskspdWriter) machine() {
	t, s := w.target, w.span
	if s.noAffinity {
		w.notes.unneeded(w.given("n", "-n"), "jobs are not bound to CPUs")
	} else if _, given := s.given["a"]; given && len(s.affinity) == 0 {
		w.notes.unneeded(s.given["a"], "the Linux scheduler spreads the jobs over the CPUs, as DiskSpd does by default")
	}
	w.affinity()
	switch t.priority {
	case 1:
		w.profile.Options["prioclass"] = "3" // class 3 is the idle class of the Linux I/O scheduler
	case 2:
		w.profile.Options["prioclass"], w.profile.Options["prio"] = "2", "7"
	case 3:
		w.notes.unneeded(w.given("I", "-I"), "normal is the default")
	}
	if t.priority == 1 || t.priority == 2 {
		w.notes.differs(w.given("I", "-I"), "Windows sends the priority with each operation; on Linux few schedulers use it, and a file server never receives it", "")
	}
	if t.largePages {
		w.notes.differs(w.given("l", "-l"), "the node would have to reserve large pages", "this affects only the CPU use: see the CPU share in the report")
	}
	if s.completion {
		w.notes.unneeded(w.given("x", "-x"), "completion routines exist only on Windows; the load is the same without them")
	}
	if t.flush != "" {
		w.flush()
	}
}

func (w *diskspdWriter) flush() {
	t := w.target
	option := w.given("N", "-N")
	switch {
	case !t.writes():
		w.notes.unneeded(option, "the load writes no data, so there is nothing to flush")
	default:
		w.profile.Fsync = &v1alpha1.FioFsync{EveryWrites: new(int32(1))}
		if t.flush != "v" {
			w.notes.differs(option, "DiskSpd flushes persistent memory without a system call; here msync flushes after each write", "")
		}
	}
}

// affinity binds jobs to the CPUs of group 0. Linux has no processor groups, so other groups are not converted.
func (w *diskspdWriter) affinity() {
	if len(w.span.affinity) == 0 {
		return
	}
	option := w.given("a", "-a")
	var numbers []string
	for _, one := range w.span.affinity {
		if one.group != 0 {
			w.notes.differs(option, "Linux has no processor groups, so the profile does not bind jobs to CPUs", "set the option cpus_allowed manually")
			return
		}
		numbers = append(numbers, fmt.Sprint(one.number))
	}
	text := strings.Join(numbers, ",")
	if len(text) > 256 {
		w.notes.differs(option, "the list of CPUs is too long for an option; jobs are not bound to CPUs here", "set the option cpus_allowed manually, with ranges such as 0-63")
		return
	}
	w.profile.Options["cpus_allowed"] = v1alpha1.FioOptionValue(text)
	w.profile.Options["cpus_allowed_policy"] = "split"
	w.notes.differs(option, "the numbers refer to the node's CPUs, which may differ from the original machine's; the pod might not be allowed to use these CPUs", "remove cpus_allowed unless you need it")
}
