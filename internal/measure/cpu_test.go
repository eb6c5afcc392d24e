package measure

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseCPUStat(t *testing.T) {
	tests := []struct {
		file string
		want CPUStat
	}{
		{"cgroup-v1", CPUStat{Periods: 1200, ThrottledPeriods: 300, ThrottledNanoseconds: 12_345_678_900}},
		{"cgroup-v2", CPUStat{Periods: 1200, ThrottledPeriods: 300, ThrottledNanoseconds: 12_345_678_000, UsageNanoseconds: 51_234_567_000, HasUsage: true}},
		{"cgroup-v2-root", CPUStat{UsageNanoseconds: 51_234_567_000, HasUsage: true}},
	}
	for _, test := range tests {
		text, err := os.ReadFile(filepath.Join("testdata", "cpustat", test.file))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ParseCPUStat(string(text)); err != nil || got != test.want {
			t.Errorf("%s: %+v, %v, want %+v", test.file, got, err, test.want)
		}
	}
}

func TestParseCPUStatRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"nothing": "", "another file": "user 5\nsystem 6\n", "no value": "nr_periods\n", "negative": "nr_periods -1\n",
		"two values": "nr_periods 1 2\n", "a fraction": "usage_usec 1.5\n", "over 64 bits": "nr_throttled 18446744073709551616\n",
		"over 64 bits as nanoseconds": "usage_usec 18446744073709551615\n", "too long": "nr_periods 1\n" + strings.Repeat("x 1\n", 20_000),
	} {
		if got, err := ParseCPUStat(text); err == nil {
			t.Errorf("%s was accepted as %+v", name, got)
		}
	}
}

func TestCPUUse(t *testing.T) {
	earlier := CPUStat{Periods: 100, ThrottledPeriods: 10, ThrottledNanoseconds: 5, UsageNanoseconds: 1_000, HasUsage: true}
	later := CPUStat{Periods: 300, ThrottledPeriods: 60, ThrottledNanoseconds: 905, UsageNanoseconds: 4_000, HasUsage: true}
	use, err := CPUUseBetween(earlier, later, 2_000)
	if want := (CPUUse{ThrottledShare: 0.25, ThrottledNanoseconds: 900, Cores: 1.5, HasCores: true}); err != nil || use != want {
		t.Errorf("got %+v, %v, want %+v", use, err, want)
	}
	if share, saturated, ok := use.Saturation(2); share != 0.75 || saturated || !ok {
		t.Errorf("of 2 cores: %v, %v, %v", share, saturated, ok)
	}
	if share, saturated, ok := use.Saturation(1.5); share != 1 || !saturated || !ok {
		t.Errorf("of 1.5 cores: %v, %v, %v", share, saturated, ok)
	}
	if _, _, ok := use.Saturation(0); ok {
		t.Error("a saturation without a limit")
	}
	if same, err := CPUUseBetween(later, later, 1); err != nil || same.ThrottledShare != 0 || same.Cores != 0 {
		t.Errorf("nothing happened: %+v, %v", same, err)
	}
	noUsage := CPUStat{Periods: 300}
	if use, err := CPUUseBetween(CPUStat{}, noUsage, 1); err != nil || use.HasCores {
		t.Errorf("without usage: %+v, %v", use, err)
	} else if _, _, ok := use.Saturation(2); ok {
		t.Error("a saturation without a usage")
	}
	// The kernel updates the two counters one after the other.
	if use, err := CPUUseBetween(CPUStat{}, CPUStat{Periods: 3, ThrottledPeriods: 4}, 1); err != nil || use.ThrottledShare != 1 {
		t.Errorf("more throttled than periods: %+v, %v", use, err)
	}
}

func TestCPUUseRefuses(t *testing.T) {
	state := CPUStat{Periods: 2, ThrottledPeriods: 2, ThrottledNanoseconds: 2, UsageNanoseconds: 2, HasUsage: true}
	for name, change := range map[string]func(*CPUStat){
		"periods": func(s *CPUStat) { s.Periods-- }, "throttled periods": func(s *CPUStat) { s.ThrottledPeriods-- },
		"throttled time": func(s *CPUStat) { s.ThrottledNanoseconds-- }, "usage": func(s *CPUStat) { s.UsageNanoseconds-- },
	} {
		later := state
		change(&later)
		if _, err := CPUUseBetween(state, later, 1); !errors.Is(err, ErrCounterReset) {
			t.Errorf("%s went down: error %v", name, err)
		}
	}
	if _, err := CPUUseBetween(state, state, 0); err == nil {
		t.Error("no time between the states was accepted")
	}
}
