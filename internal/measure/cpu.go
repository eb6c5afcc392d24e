package measure

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// CPUStat holds the CPU counters of a cgroup at one instant. The counters only grow.
type CPUStat struct {
	// Periods is the number of enforcement periods (usually 100 ms each) in which the group was runnable.
	Periods uint64
	// ThrottledPeriods is the number of enforcement periods in which the group used up its quota and was stopped.
	ThrottledPeriods uint64
	// ThrottledNanoseconds is the total time during which the group's threads were stopped.
	ThrottledNanoseconds uint64
	// UsageNanoseconds is the CPU time used. HasUsage is false for cgroup v1, whose cpu.stat lacks the usage; read
	// it from cpuacct.usage instead.
	UsageNanoseconds uint64
	HasUsage         bool
}

// maxCPUStatBytes bounds the text that is parsed; the kernel writes less than 1 KiB.
const maxCPUStatBytes = 64 << 10

// ParseCPUStat parses the text of a cgroup's cpu.stat, v1 or v2 (the kernel's Documentation/admin-guide/cgroup-v2.rst
// and scheduler/sched-bwc.rst). It skips unknown fields. In cgroup v2, nr_periods is missing if the cgroup has no CPU
// controller; all counters except the usage are then 0. A text without any known field is an error.
func ParseCPUStat(text string) (CPUStat, error) {
	if len(text) > maxCPUStatBytes {
		return CPUStat{}, fmt.Errorf("parse cpu.stat: too long: %d bytes", len(text))
	}
	var stat CPUStat
	found := false
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		target, unit := stat.field(name)
		if target == nil {
			continue
		}
		number, err := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
		if err != nil {
			return CPUStat{}, fmt.Errorf("parse cpu.stat: the value %.40q of field %s is not a count", value, name)
		}
		scaled := productOf(number, unit)
		if scaled.High != 0 {
			return CPUStat{}, fmt.Errorf("parse cpu.stat: the value %d of field %s is too large", number, name)
		}
		*target = scaled.Low
		stat.HasUsage = stat.HasUsage || name == "usage_usec"
		found = true
	}
	if !found {
		return CPUStat{}, errors.New("parse cpu.stat: nr_periods and usage_usec are missing: not a cgroup's cpu.stat")
	}
	return stat, nil
}

// field returns the counter in which a field of cpu.stat is stored, and the factor that converts the field's value to
// the counter's unit. It returns nil for a field that is not stored.
func (s *CPUStat) field(name string) (target *uint64, unit uint64) {
	const nanosecondsInMicrosecond = 1000
	switch name {
	case "nr_periods":
		return &s.Periods, 1
	case "nr_throttled":
		return &s.ThrottledPeriods, 1
	case "throttled_usec": // in cpu.stat of cgroup v2, in microseconds
		return &s.ThrottledNanoseconds, nanosecondsInMicrosecond
	case "throttled_time": // in cpu.stat of cgroup v1, in nanoseconds
		return &s.ThrottledNanoseconds, 1
	case "usage_usec": // in cpu.stat of cgroup v2, in microseconds
		return &s.UsageNanoseconds, nanosecondsInMicrosecond
	}
	return nil, 0
}

// SaturatedShare is the CPU usage, as a share (0 to 1) of the CPU limit, at which a client counts as saturated. The
// tool, not the storage, may then limit the result.
const SaturatedShare = 0.90

// MinLittleShare is the minimum share of the requested concurrency that must be in flight. By Little's law, the mean
// number of operations in flight is the rate times the mean latency. With a smaller share, the load generator, not the
// storage, limits the result.
const MinLittleShare = 0.90
