package result_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/test/builders"
)

const gibibyte = 1 << 30

// takes returns the usage of 1 GiB of data for which a file system allocated the given number of bytes.
func takes(allocated uint64, fileSystem, compression string) *result.Usage {
	space := result.Space{Files: 2, ApparentBytes: gibibyte, DataBytes: gibibyte, AllocatedBytes: allocated}
	return &result.Usage{Space: space, Types: []result.TypeUsage{{Space: space}}, HolesKnown: true, Settled: true,
		FileSystem: fileSystem, Compression: compression}
}

// spaces returns clients that report the given usages and the tool's version. If job is set, they are an MPI job.
func spaces(version string, job bool, all ...*result.Usage) []result.Client {
	var clients []result.Client
	for i, usage := range all {
		client := writer(i).Obj()
		client.ToolVersion, client.Usage = version, usage
		if job && i == 0 {
			client.Job = &engine.Job{Ranks: 2, Clients: len(all)}
		}
		clients = append(clients, client)
	}
	return clients
}

func withIOR(change func(*v1alpha1.IORProfile)) *builders.BenchmarkBuilder {
	return builders.Benchmark("b").Target("data").Clients(2).Load(builders.IOR().Mutate(change).Engine()).Steady("write", "10s")
}

func withFio(change func(*v1alpha1.FioProfile)) *builders.BenchmarkBuilder {
	profile := builders.Fio().Obj()
	profile.ReadPercent = new(int32(0))
	if change != nil {
		change(profile)
	}
	benchmark := builders.Benchmark("b").Target("data").Prepare("layout").Steady("write", "10s")
	return benchmark.Mutate(func(r *v1alpha1.RunSpec) {
		for i := range r.Phases {
			r.Phases[i].Workload = &v1alpha1.Workload{Engine: v1alpha1.Engine{Fio: profile}}
		}
	})
}

// usageWarnings returns the types and the messages of the warnings about usage.
func usageWarnings(made v1alpha1.TargetResult) (types, words string) {
	for _, warning := range made.Warnings {
		if slices.Contains([]v1alpha1.WarningType{v1alpha1.WarningPatternCompresses, v1alpha1.WarningCompressionNotShown, v1alpha1.WarningUsageUnknown}, warning.Type) {
			types, words = types+string(warning.Type)+" ", words+warning.Message
		}
	}
	return strings.TrimSpace(types), words
}

func TestUsageRatioAndPattern(t *testing.T) {
	const quarter, half = gibibyte / 4, gibibyte / 2
	unsettled := takes(half, "zfs", "Shown")
	unsettled.Settled = false
	blind := takes(half, "nfs4", "Unknown")
	blind.HolesKnown = false
	tests := map[string]struct {
		benchmark *builders.BenchmarkBuilder
		version   string
		usage     *result.Usage
		// ratio and pattern are in thousandths; 0 means absent.
		ratio, pattern int64
		name, warned   string
		words          []string
	}{
		"ior 3.3.0 of the post": {withIOR(func(*v1alpha1.IORProfile) {}), "3.3.0", takes(quarter, "lustre", "Shown"), 4000, 3990, "default (Timestamp)",
			"PatternCompresses", []string{"1.074 GB of data take 268.4 MB", "4.00:1", "ior 3.3.0 writes (default (Timestamp)) is compressed about 3.99:1 by lz4",
				"set dataPattern to Incompressible"}},
		"ior 4.0.0": {withIOR(func(*v1alpha1.IORProfile) {}), "4.0.0", takes(half, "lustre", "Shown"), 2000, 1990, "default (Timestamp)",
			"PatternCompresses", []string{"ior 4.0.0", "1.99:1", "set dataPattern to Random"}},
		"ior 4.0.0, random": {withIOR(func(p *v1alpha1.IORProfile) { p.DataPattern = "Random" }), "4.0.0", takes(gibibyte, "lustre", "Shown"), 1000, 990, "Random", "", nil},
		"ior 4.0.0, its broken pattern": {withIOR(func(*v1alpha1.IORProfile) {}), "4.0.0", takes(gibibyte/200, "zfs", "Shown"),
			200_000, 202_000, "Incompressible", "PatternCompresses", []string{"200:1", "(Incompressible) is compressed about 202:1"}},
		"ior 3.3.0 does not know random": {withIOR(func(p *v1alpha1.IORProfile) { p.DataPattern = "Random" }), "3.3.0", takes(quarter, "zfs", "Shown"),
			4000, 3990, "Random", "PatternCompresses", nil},
		"a newer ior":              {withIOR(func(*v1alpha1.IORProfile) {}), "4.1.0+dev", takes(half, "zfs", "Shown"), 2000, 1990, "default (Timestamp)", "PatternCompresses", nil},
		"an ior that nobody knows": {withIOR(func(*v1alpha1.IORProfile) {}), "5.0", takes(half, "zfs", "Shown"), 2000, 0, "default (Timestamp)", "", nil},
		"nothing is saved":         {withIOR(func(*v1alpha1.IORProfile) {}), "4.0.0", takes(gibibyte, "zfs", "Shown"), 1000, 1990, "default (Timestamp)", "", nil},
		"btrfs": {withIOR(func(*v1alpha1.IORProfile) {}), "4.0.0", takes(gibibyte, "btrfs", "Hidden"), 0, 1990, "default (Timestamp)",
			"CompressionNotShown", []string{"the client cannot see whether btrfs compresses it (the file system does not report how much space compression saves)", "1.99:1"}},
		"ext4":              {withIOR(func(*v1alpha1.IORProfile) {}), "4.0.0", takes(gibibyte, "ext4", "None"), 0, 1990, "default (Timestamp)", "", nil},
		"nfs that shows it": {withIOR(func(*v1alpha1.IORProfile) {}), "4.0.0", takes(half, "nfs4", "Unknown"), 2000, 1990, "default (Timestamp)", "PatternCompresses", nil},
		"nfs that shows nothing": {withIOR(func(*v1alpha1.IORProfile) {}), "4.0.0", takes(gibibyte, "nfs4", "Unknown"), 0, 1990, "default (Timestamp)",
			"CompressionNotShown", []string{"equals the size of the data"}},
		"still changing":                 {withIOR(func(*v1alpha1.IORProfile) {}), "4.0.0", unsettled, 0, 1990, "default (Timestamp)", "CompressionNotShown", []string{"may still have been changing"}},
		"no holes in a file of one rank": {withIOR(func(*v1alpha1.IORProfile) {}), "4.0.0", blind, 2000, 1990, "default (Timestamp)", "PatternCompresses", nil},
		"perhaps holes in a shared file": {withIOR(func(p *v1alpha1.IORProfile) { p.FilePerProcess = new(false) }), "4.0.0", blind, 0, 1990, "default (Timestamp)",
			"CompressionNotShown", []string{"holes cannot be distinguished from compression"}},
		"fio":                            {withFio(func(p *v1alpha1.FioProfile) { p.BlockSize = new(resource.MustParse("1Mi")) }), "fio-3.33", takes(gibibyte, "zfs", "Shown"), 1000, 1040, "random", "", nil},
		"fio, something else compresses": {withFio(func(p *v1alpha1.FioProfile) { p.BlockSize = new(resource.MustParse("1Mi")) }), "fio-3.33", takes(half, "zfs", "Shown"), 2000, 1040, "random", "", nil},
		"fio, small blocks": {withFio(func(p *v1alpha1.FioProfile) { p.BlockSize = new(resource.MustParse("4Ki")) }), "fio-3.33", takes(quarter, "zfs", "Shown"), 4000, 0, "random",
			"PatternCompresses", []string{"repeats a few buffers", "set refillBuffers"}},
		"fio, small blocks, new data": {withFio(func(p *v1alpha1.FioProfile) {
			p.BlockSize, p.RefillBuffers = new(resource.MustParse("4Ki")), new(true)
		}), "fio-3.33", takes(quarter, "zfs", "Shown"), 4000, 1000, "random, new for each write (refill_buffers)", "", nil},
		"fio, half of it": {withFio(func(p *v1alpha1.FioProfile) { p.Compressibility = &v1alpha1.Compressibility{Percent: 50} }), "fio-3.33", takes(half, "zfs", "Shown"), 2000, 2000,
			"buffer_compress_percentage=50", "PatternCompresses", []string{"fio 3.33 writes (buffer_compress_percentage=50) is compressed about 2.00:1"}},
		"fio, all of it": {withFio(func(p *v1alpha1.FioProfile) { p.Compressibility = &v1alpha1.Compressibility{Percent: 100} }), "fio-3.33", takes(gibibyte, "btrfs", "Hidden"), 0, 235_000,
			"buffer_compress_percentage=100", "CompressionNotShown", nil},
		"fio, zeros": {withFio(func(p *v1alpha1.FioProfile) {
			p.Options = map[string]v1alpha1.FioOptionValue{"zero_buffers": "1"}
		}), "fio-3.33", takes(gibibyte/100, "zfs", "Shown"), 100_000, 235_000, "zero_buffers", "PatternCompresses", []string{"100:1"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ior := strings.Contains(name, "ior") || test.benchmark.Run().Phases[0].Workload == nil
			clients := spaces(test.version, ior, test.usage)
			if ior {
				clients = append(clients, spaces(test.version, false, nil, nil)[1]) // reports nothing, because it shares the directory
			}
			step := stepOf(t, test.benchmark)
			if test.name == "Incompressible" {
				step.Workloads["data"].IOR.DataPattern = test.name // The plan refuses it.
			}
			made := result.Target(step, "data", clients, result.History{})
			usage := made.Usage
			if usage == nil {
				t.Fatalf("no usage in %+v", made)
			}
			if value(usage.CompressionRatioMilli) != test.ratio || value(usage.PatternRatioMilli) != test.pattern || usage.DataPattern != test.name {
				t.Errorf("ratio %d, pattern %q of %d", value(usage.CompressionRatioMilli), usage.DataPattern, value(usage.PatternRatioMilli))
			}
			if usage.ToolVersion != test.version || usage.ApparentBytes != gibibyte || usage.Types != nil {
				t.Errorf("got %+v", usage)
			}
			types, words := usageWarnings(made)
			if types != test.warned {
				t.Errorf("warns of %q: %s", types, words)
			}
			for _, word := range test.words {
				if !strings.Contains(words, word) {
					t.Errorf("%q is not in %q", word, words)
				}
			}
		})
	}
}

func value(of *int64) int64 {
	if of == nil {
		return 0
	}
	return *of
}

// TestUsageOfAllClients checks that the usage is the sum over all clients. If one of them reports none, the result has
// none, because a partial sum would be misleading.
func TestUsageOfAllClients(t *testing.T) {
	mixed := takes(gibibyte/2, "zfs", "Shown")
	mixed.Types = []result.TypeUsage{
		{Extension: "exr", Space: result.Space{Files: 1, ApparentBytes: gibibyte / 2, DataBytes: gibibyte / 2, AllocatedBytes: gibibyte / 8}},
		{Extension: "", Space: result.Space{Files: 1, ApparentBytes: gibibyte / 2, DataBytes: gibibyte / 2, AllocatedBytes: gibibyte * 3 / 8}},
	}
	step := stepOf(t, withFio(nil))
	made := result.Target(step, "data", spaces("fio-3.33", false, mixed, mixed, takes(gibibyte, "zfs", "Shown")), result.History{})
	compared(t, "usage-by-type", made.Usage)

	if made := result.Target(step, "data", spaces("fio-3.33", false, mixed, nil), result.History{}); made.Usage != nil {
		t.Errorf("one of two clients reported usage, but the result has %+v", made.Usage)
	}
	if made := result.Target(step, "data", spaces("fio-3.33", false, nil, nil), result.History{}); made.Usage != nil {
		t.Errorf("no client reported usage, but the result has %+v", made.Usage)
	}
	// In this MPI job, each client has its own directory, and one client could not count its files.
	clients := spaces("4.0.0", true, mixed, nil)
	clients[1].Notices = []result.Notice{{Warning: "UsageUnknown", Message: "there are too many"}}
	made = result.Target(stepOf(t, withIOR(func(*v1alpha1.IORProfile) {})), "data", clients, result.History{})
	if types, words := usageWarnings(made); made.Usage != nil || types != "UsageUnknown" || !strings.Contains(words, "there are too many") {
		t.Errorf("got %+v and %q", made.Usage, words)
	}
	// The clients' volumes have different file systems.
	made = result.Target(step, "data", spaces("fio-3.33", false, mixed, takes(gibibyte, "ext4", "None")), result.History{})
	if made.Usage.FileSystem != "several" || made.Usage.Compression != "Unknown" {
		t.Errorf("got %+v", made.Usage)
	}
}
