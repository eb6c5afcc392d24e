package tool

import (
	"runtime"
	"time"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/process"
)

// CPUMeter measures the tool's CPU time and the throttling of the cgroup during one step.
type CPUMeter struct {
	since int64
	stat  measure.CPUStat
	known bool
}

// Begin reads the counters. If it is called again, it replaces the earlier reading.
func (m *CPUMeter) Begin(clock Clock) {
	m.since = clock.Monotonic()
	m.stat, m.known = cgroupCPU()
}

// End returns the CPU use since Begin. exit describes the tool's exit; it is nil if the tool never ran or did not
// exit.
func (m *CPUMeter) End(clock Clock, exit *Exit) *agentapi.CPUUse {
	use := &agentapi.CPUUse{WallNanoseconds: clock.Monotonic() - m.since, LimitMilli: CPULimitMilli()}
	if use.GetLimitMilli() == 0 {
		use.LimitMilli = int64(runtime.NumCPU()) * 1000
	}
	if exit != nil {
		use.BusyNanoseconds = int64(exit.Busy)
	}
	now, known := cgroupCPU()
	if known && m.known {
		use.Periods = now.Periods - min(m.stat.Periods, now.Periods)
		use.ThrottledPeriods = now.ThrottledPeriods - min(m.stat.ThrottledPeriods, now.ThrottledPeriods)
		use.ThrottledNanoseconds = int64(now.ThrottledNanoseconds - min(m.stat.ThrottledNanoseconds, now.ThrottledNanoseconds)) //nolint:gosec // 292 years.
	}
	return use
}

func cgroupCPU() (measure.CPUStat, bool) {
	text, err := process.CgroupCPUStat()
	if err != nil {
		return measure.CPUStat{}, false
	}
	stat, err := measure.ParseCPUStat(text)
	return stat, err == nil
}

// CPULimitMilli returns the CPU limit of the cgroup in thousandths of a CPU, or 0 if there is no limit.
func CPULimitMilli() int64 {
	limit, limited, err := process.CgroupCPULimit()
	if err != nil || !limited {
		return 0
	}
	return int64(limit.Quota * 1000 / max(limit.Period, time.Nanosecond))
}
