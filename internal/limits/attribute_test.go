package limits

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

func first(t *testing.T, got Attribution, cause Cause, limit string) Suspect {
	t.Helper()
	suspect := got.Suspects[0]
	name := ""
	if suspect.Limit != nil {
		name = suspect.Limit.Name
	}
	if suspect.Cause != cause || name != limit {
		t.Fatalf("first is %s (%s), want %s (%s): %+v", suspect.Cause, name, cause, limit, got.Suspects)
	}
	return suspect
}

// azureServer returns the limits of a machine with four uncached P30 disks.
func azureServer(t *testing.T) Computed {
	t.Helper()
	return compute(t, Description{Volumes: []Volume{{Driver: "disk.csi.azure.com", Attributes: class("skuName=Premium_LRS cachingMode=None"), CapacityBytes: 1024 * gi, Count: 4}},
		Clients: []Machines{{Type: "Standard_D32s_v3", Nodes: 1}}}, nil)
}

// TestMachineCapsDisks checks that the machine is the cause if it lets only 768 MB/s pass to four disks with 800 MB/s
// in total.
func TestMachineCapsDisks(t *testing.T) {
	got := azureServer(t).Attribute(Measured{Load: Load{BlockBytes: 65536, Operation: Read}, Rate: Rate{766e6, 766e6 / 65536},
		LatencySeconds: 144 * 65536 / 766e6, Outstanding: 144, FloorSeconds: 0.004, DeeperGain: 1.0})
	suspect := first(t, got, CauseInstance, "VM uncached throughput")
	if evidence := strings.Join(suspect.Evidence, "; "); !strings.Contains(evidence, "766.0 MB/s is 99.7 % of the baseline of VM uncached throughput (768 MB/s)") {
		t.Error(evidence)
	}
	if got.Ambiguous || suspect.Tied {
		t.Error("the disks are named as if they were as near")
	}
	beside := false
	for _, other := range got.Suspects[1:] {
		beside = beside || other.Cause == CauseDisk && other.Limit.Name == "disk throughput" && strings.Contains(other.Evidence[0], "4 x 200 MB/s = 800 MB/s")
	}
	if !beside {
		t.Errorf("the disks' 800 MB/s are not named beside it: %+v", got.Suspects)
	}
	near(t, "percent of the documented baseline", got.PercentOfBaseline, 100*766.0/768)
	near(t, "percent of the documented burst", got.PercentOfBurst, 100*766.0/800)
}

// TestGivenLimit checks that a limit set by the user is reported as such and not attributed to the disks: its layer is
// unknown.
func TestGivenLimit(t *testing.T) {
	given := compute(t, Description{Volumes: []Volume{{}}}, &v1alpha1.Limits{Throughput: &v1alpha1.RateLimits{Baseline: new(resource.MustParse("32M")), Burst: new(resource.MustParse("260M")), Bucket: new(resource.MustParse("400G"))}})
	measured := Measured{Load: Load{BlockBytes: 1 << 20, Operation: Write}, Rate: Rate{259e6, 247}}
	first(t, given.Attribute(measured), CauseLimit, "documented.throughput")
	// A run reads the limits from its status.
	given = FromRecord(Record("data", Description{}, given))
	first(t, given.Attribute(measured), CauseLimit, "documented.throughput")
	measured.Rate = Rate{31.9e6, 30.4}
	measured.Credits = map[string]Fill{"documented.throughput": {Emptied: true}}
	first(t, given.Attribute(measured), CauseCredits, "documented.throughput")
}

// TestSingleThread checks that the queue depth is the cause if one thread with eight outstanding operations of 4 ms
// each reaches 1,985 IOPS, far from any limit.
func TestSingleThread(t *testing.T) {
	measured := Measured{Load: Load{BlockBytes: 4096, Operation: Read}, Rate: Rate{1985 * 4096, 1985}, LatencySeconds: 0.00403, Outstanding: 8, FloorSeconds: 0.004, DeeperGain: 1.98}
	got := azureServer(t).Attribute(measured)
	suspect := first(t, got, CauseQueueDepth, "")
	evidence := strings.Join(suspect.Evidence, "; ")
	for _, want := range []string{"8 outstanding operations at 4.03 ms each allow at most 1,985 IOPS", "the rate was 1.98 times as high with more outstanding operations", "the highest utilization of any documented limit is 9.9 %"} {
		if !strings.Contains(evidence, want) {
			t.Errorf("%q has no %q", evidence, want)
		}
	}
	// Without this evidence, Little's law proves nothing.
	for what, spoil := range map[string]func(*Measured){
		"no deeper step":            func(m *Measured) { m.DeeperGain = 0 },
		"a deeper step without use": func(m *Measured) { m.DeeperGain = 1.02 },
		"the floor is not known":    func(m *Measured) { m.FloorSeconds = 0 },
		"it waits":                  func(m *Measured) { m.FloorSeconds = 0.001 },
		"a limit is near":           func(m *Measured) { m.Asked = Rate{OperationsPerSecond: 2300} },
	} {
		spoilt := measured
		spoil(&spoilt)
		got := azureServer(t).Attribute(spoilt)
		if got.Suspects[0].Cause != CauseUnknown {
			t.Errorf("%s: %+v", what, got.Suspects[0])
		}
		if beside := len(got.Suspects) > 1; beside != (what == "a limit is near") {
			t.Errorf("%s: %+v", what, got.Suspects)
		}
		if what == "no deeper step" && !strings.Contains(strings.Join(got.Suspects[0].Evidence, " "), "with a ramp of QueueDepth or Jobs") {
			t.Errorf("what would prove it is not said: %q", got.Suspects[0].Evidence)
		}
	}
}

// TestWindowsFileServer attributes rates that were measured on FSx for Windows with 32 MB/s on hard disks.
func TestWindowsFileServer(t *testing.T) {
	fsx := compute(t, Description{Volumes: []Volume{{Driver: "smb.csi.k8s.io"}}, Clients: []Machines{{Type: "m5n.8xlarge", Nodes: 1}}}, declared("aws-fsx-windows/hdd-32", "5Ti"))
	rate := func(mb float64) Rate { return Rate{mb * 1e6, mb * 1e6 / (1 << 20)} }
	drain := Measured{Load: Load{BlockBytes: 1 << 20, Operation: Write}, Outstanding: 32, FloorSeconds: 0.003}
	burst := fsx.Attribute(drain.AtLevel(rate(270.5), 32*(1<<20)/270.5e6))
	first(t, burst, CauseDisk, "server disk throughput")
	baseline := fsx.Attribute(drain.AtLevel(rate(31), 32*(1<<20)/31e6, "server disk throughput"))
	first(t, baseline, CauseCredits, "server disk throughput")
	near(t, "percent of the baseline", baseline.PercentOfBaseline, 100*31.0/32)
	// Reads from the server's memory at 625 MB/s, or 5 Gbit/s, are limited by a single flow. The disks could not deliver
	// that much.
	cache := drain
	cache.Load.Operation, cache.WorkingSetBytes, cache.Random = Read, 2e9, true
	reads := fsx.Attribute(cache.AtLevel(rate(620), 32*(1<<20)/620e6))
	first(t, reads, CauseFlow, "one flow")
	causes := ""
	for _, suspect := range reads.Suspects {
		causes += string(suspect.Cause) + " "
	}
	if !strings.Contains(causes, "ServerCache") || strings.Contains(causes, "Disk") || !strings.Contains(causes, "Network") {
		t.Errorf("%s for reads from the server's memory", causes)
	}
}

func TestGenerators(t *testing.T) {
	disks := azureServer(t)
	base := Measured{Load: Load{BlockBytes: 65536, Operation: Read}, Rate: Rate{766e6, 766e6 / 65536}, Outstanding: 144, LatencySeconds: 0.005, FloorSeconds: 0.004}
	cpu := base
	cpu.CPUShare = 0.97
	got := disks.Attribute(cpu)
	if s := first(t, got, CauseClientCPU, ""); !strings.Contains(strings.Join(s.Evidence, ";"), "of the configured queue depth was outstanding") {
		t.Errorf("%q", s.Evidence)
	}
	if got.Suspects[1].Cause != CauseInstance || !strings.Contains(strings.Join(got.Suspects[1].Evidence, ";"), "against it") {
		t.Errorf("the machine's limit, which is near, is not named with what speaks against it: %+v", got.Suspects)
	}
	throttle := base
	throttle.ThrottledShare = 0.3
	first(t, disks.Attribute(throttle), CauseClientCPU, "")
	first(t, disks.Attribute(base), CauseTool, "")
	asked := Measured{Load: base.Load, Rate: Rate{100e6, 100e6 / 65536}, Asked: Rate{BytesPerSecond: 100e6}}
	first(t, disks.Attribute(asked), CauseTool, "")
}

// TestHostCache checks that reads faster than the disk are attributed to the cache of the machine's host, which has
// limits of its own.
func TestHostCache(t *testing.T) {
	vm := compute(t, Description{Volumes: []Volume{{Driver: "disk.csi.azure.com", Attributes: class("skuName=Premium_LRS"), CapacityBytes: 1024 * gi}}, Clients: []Machines{{Type: "Standard_D32s_v3", Nodes: 1}}}, nil)
	measured := Measured{Load: Load{BlockBytes: 65536, Operation: Read}, Rate: Rate{505e6, 505e6 / 65536}}
	first(t, vm.Attribute(measured), CauseInstance, "VM cached throughput")
	measured.Rate = Rate{199e6, 199e6 / 65536}
	first(t, vm.Attribute(measured), CauseDisk, "disk throughput")
	measured.Load.Operation, measured.Rate = Write, Rate{505e6, 505e6 / 65536}
	first(t, vm.Attribute(measured), CauseUnknown, "")
}

// TestHostCacheOfLargeDisks checks that disks of 4 TiB or more count as uncached, whatever their cachingMode.
func TestHostCacheOfLargeDisks(t *testing.T) {
	for size, caches := range map[int64]bool{4095 * gi: true, 4096 * gi: false} {
		disk := Volume{Driver: azureDisks, Attributes: class("skuName=Premium_LRS cachingMode=ReadOnly"), CapacityBytes: size}
		made := compute(t, Description{Volumes: []Volume{disk}, Clients: []Machines{{Type: "Standard_D32s_v3", Nodes: 1}}}, nil)
		noted := strings.Contains(strings.Join(made.Notes, "; "), "cachingMode is ReadOnly")
		limited := slices.ContainsFunc(made.Limits, func(l Limit) bool { return l.Name == "VM cached throughput" })
		_, warned := HostCache(recordVolume(disk))
		if noted != caches || limited != caches || warned != caches {
			t.Errorf("%d bytes: noted %t, limited %t, warned %t, want %t", size, noted, limited, warned, caches)
		}
	}
}

func TestTiesAndUnknown(t *testing.T) {
	made := Computed{Limits: []Limit{
		{Name: "disk throughput", Layer: LayerDisk, Dimension: Bytes, Baseline: 100e6, Arithmetic: "100 MB/s", Units: 1},
		{Name: "server network", Layer: LayerNetwork, Dimension: Bytes, Baseline: 101e6, Arithmetic: "101 MB/s", Units: 1},
	}}
	got := made.Attribute(Measured{Rate: Rate{BytesPerSecond: 99e6}})
	if !got.Ambiguous || !got.Suspects[0].Tied || !got.Suspects[1].Tied {
		t.Errorf("limits one percent apart are distinguished: %+v", got)
	}
	near(t, "without a block size, percent of the baseline", got.PercentOfBaseline, 99)
	got = made.Attribute(Measured{Rate: Rate{BytesPerSecond: 60e6}})
	if s := first(t, got, CauseUnknown, ""); !strings.Contains(s.Evidence[0], "the closest is disk throughput, of which 60.0 % was reached") {
		t.Errorf("%q", s.Evidence)
	}
	got = (Computed{Missing: []Missing{{"documented.preset", "name it"}}}).Attribute(Measured{Rate: Rate{BytesPerSecond: 60e6}})
	if s := first(t, got, CauseUnknown, ""); len(s.Evidence) != 2 || s.Evidence[1] != "unknown: documented.preset: name it" {
		t.Errorf("%q", s.Evidence)
	}
	if got.PercentOfBaseline != 0 || got.PercentOfBurst != 0 {
		t.Error("percent of nothing")
	}
	first(t, (Computed{}).Attribute(Measured{}), CauseUnknown, "")
}

// TestCreditsNotFollowed checks that the limit whose baseline was reached is the first suspect, and spent credits the
// second, if the state of the credits is unknown.
func TestCreditsNotFollowed(t *testing.T) {
	made := Computed{Limits: []Limit{{Name: "disk throughput", Layer: LayerDisk, Dimension: Bytes, Baseline: 100e6, Burst: 300e6, Bucket: 1e12, Refill: 100e6, Arithmetic: "100 MB/s", BurstArithmetic: "300 MB/s", Units: 1}}}
	rate := Measured{Rate: Rate{BytesPerSecond: 99e6}}
	for what, test := range map[string]struct {
		fill   map[string]Fill
		first  Cause
		second bool
	}{
		"not followed":  {nil, CauseDisk, true},
		"may be either": {map[string]Fill{"disk throughput": {Most: 100}}, CauseDisk, true},
		"gone":          {map[string]Fill{"disk throughput": {Most: 1}}, CauseCredits, false},
		"seen to go":    {map[string]Fill{"disk throughput": {Most: 40, Least: 40, Emptied: true}}, CauseCredits, false},
		"left":          {map[string]Fill{"disk throughput": {Most: 90, Least: 60}}, CauseUnknown, false},
	} {
		measured := rate
		measured.Credits = test.fill
		got := made.Attribute(measured)
		if got.Suspects[0].Cause != test.first || (len(got.Suspects) > 1 && got.Suspects[1].Cause == CauseCredits) != test.second || got.Ambiguous {
			t.Errorf("%s: %+v", what, got)
		}
	}
}
