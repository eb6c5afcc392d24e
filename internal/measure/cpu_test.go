package measure

import (
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
