package measure

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// CPUStat is the state of a cgroup's ever growing CPU counters.
type CPUStat struct {
	// Periods is how many enforcement periods (100 ms as a rule) the group was runnable in.
	Periods uint64
	// ThrottledPeriods is in how many of them it used up its quota and was stopped.
	ThrottledPeriods uint64
	// ThrottledNanoseconds is how long its threads were stopped.
	ThrottledNanoseconds uint64
	// UsageNanoseconds is the CPU time used. HasUsage is false in cgroup v1, where
	// cpu.stat does not hold it and it is read from cpuacct.usage.
	UsageNanoseconds uint64
	HasUsage         bool
}

// maxCPUStatBytes bounds what is read; the kernel writes under 1 KiB.
const maxCPUStatBytes = 64 << 10

// ParseCPUStat reads the text of a cgroup's cpu.stat, v1 or v2 (the kernel's
// Documentation/admin-guide/cgroup-v2.rst and scheduler/sched-bwc.rst). Fields that are not
// known are skipped. v2 without a CPU controller has no nr_periods; all its counters but the
// usage are then 0. A file with none of the fields is an error.
func ParseCPUStat(text string) (CPUStat, error) {
	if len(text) > maxCPUStatBytes {
		return CPUStat{}, fmt.Errorf("parse cpu.stat: %d bytes are too long", len(text))
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
			return CPUStat{}, fmt.Errorf("parse cpu.stat: field %s has the value %.40q, which is no count", name, value)
		}
		scaled := productOf(number, unit)
		if scaled.High != 0 {
			return CPUStat{}, fmt.Errorf("parse cpu.stat: field %s has the value %d, which is too great", name, number)
		}
		*target = scaled.Low
		stat.HasUsage = stat.HasUsage || name == "usage_usec"
		found = true
	}
	if !found {
		return CPUStat{}, errors.New("parse cpu.stat: it has neither nr_periods nor usage_usec: not a cgroup's cpu.stat")
	}
	return stat, nil
}

// field gives where a field of cpu.stat is kept, and its unit in the unit of that place.
func (s *CPUStat) field(name string) (target *uint64, unit uint64) {
	const nanosecondsInMicrosecond = 1000
	switch name {
	case "nr_periods":
		return &s.Periods, 1
	case "nr_throttled":
		return &s.ThrottledPeriods, 1
	case "throttled_usec": // v2
		return &s.ThrottledNanoseconds, nanosecondsInMicrosecond
	case "throttled_time": // v1
		return &s.ThrottledNanoseconds, 1
	case "usage_usec": // v2
		return &s.UsageNanoseconds, nanosecondsInMicrosecond
	}
	return nil, 0
}

// CPUUse is what a cgroup did with the CPU between two states of its counters.
type CPUUse struct {
	// ThrottledShare is the share of its periods, 0 to 1, in which it was stopped for
	// having used up its quota. While it was, I/O was neither submitted nor seen to
	// complete, and the latencies measured are those of the client and not of the storage.
	ThrottledShare       float64
	ThrottledNanoseconds uint64
	// Cores is the mean number of cores in use. HasCores is false when not known.
	Cores    float64
	HasCores bool
}

// CPUUseBetween gives what happened between two states that were taken the given time
// apart. Counters that went down wrap ErrCounterReset: the cgroup was replaced.
func CPUUseBetween(earlier, later CPUStat, elapsedNanoseconds int64) (CPUUse, error) {
	if elapsedNanoseconds <= 0 {
		return CPUUse{}, fmt.Errorf("CPU use: the states are %d ns apart", elapsedNanoseconds)
	}
	hasCores := earlier.HasUsage && later.HasUsage
	if later.Periods < earlier.Periods || later.ThrottledPeriods < earlier.ThrottledPeriods ||
		later.ThrottledNanoseconds < earlier.ThrottledNanoseconds ||
		(hasCores && later.UsageNanoseconds < earlier.UsageNanoseconds) {
		return CPUUse{}, fmt.Errorf("CPU use: %w", ErrCounterReset)
	}
	use := CPUUse{
		ThrottledNanoseconds: later.ThrottledNanoseconds - earlier.ThrottledNanoseconds,
		HasCores:             hasCores,
	}
	if periods := later.Periods - earlier.Periods; periods > 0 {
		throttled := min(later.ThrottledPeriods-earlier.ThrottledPeriods, periods)
		use.ThrottledShare = float64(throttled) / float64(periods)
	}
	if hasCores {
		use.Cores = float64(later.UsageNanoseconds-earlier.UsageNanoseconds) / float64(elapsedNanoseconds)
	}
	return use, nil
}

// SaturatedShare is the share of its CPU limit, 0 to 1, from which a client counts as
// saturated: the tool may then be what limits the result.
const SaturatedShare = 0.90

// Saturation gives the share of a limit of cores that was in use, and whether that is
// SaturatedShare or more. limitCores is the quota, or the CPUs of the machine where there
// is none. ok is false when use or limit is not known.
func (u CPUUse) Saturation(limitCores float64) (share float64, saturated, ok bool) {
	if !u.HasCores || !(limitCores > 0) {
		return 0, false, false
	}
	share = u.Cores / limitCores
	return share, share >= SaturatedShare, true
}
