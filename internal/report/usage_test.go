package report_test

import (
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/test/builders"
)

// holding returns the usage of a client: 1 GiB of data in four files, for which the given number of bytes is allocated.
func holding(fileSystem, compression string, allocated uint64) *result.Usage {
	space := result.Space{Files: 4, ApparentBytes: 1 << 30, DataBytes: 1 << 30, AllocatedBytes: allocated}
	return &result.Usage{Space: space, Types: []result.TypeUsage{{Space: space}}, HolesKnown: true, Settled: true, FileSystem: fileSystem, Compression: compression}
}

// withSpace makes the four clients of a step report a usage that depends on the phase and the target.
func withSpace(of func(phase, target string) *result.Usage) func(plan.Step) []result.Client {
	return func(step plan.Step) []result.Client {
		all := four(step)
		for i := range all {
			all[i].Usage = of(step.Phase, all[i].Target)
		}
		return all
	}
}

// compressing returns a benchmark with two targets, one of which compresses. fio's data can be compressed to half its
// size.
func compressing() *builders.BenchmarkBuilder {
	return builders.Benchmark("usual").Target("none").Target("lz4").Clients(4).Workload(builders.Fio().Compressible(50)).
		Prepare("layout").Steady("write", "10s")
}

var spaceDocuments = map[string]paper{
	"space": play(compressing(), withSpace(func(_, target string) *result.Usage {
		if target == "lz4" {
			return holding("lustre", "Shown", 1<<29)
		}
		return holding("ext4", "None", 1<<30)
	}), finished()),
	"space-not-shown": play(compressing(), withSpace(func(phase, target string) *result.Usage {
		usage := holding("btrfs", "Hidden", 1<<30)
		switch {
		case target == "lz4" && phase == "layout":
			usage = holding("nfs4", "Unknown", 1<<30)
		case target == "lz4":
			usage = holding("zfs", "Shown", 1<<20)
			usage.Settled = false
		case phase == "write":
			usage.ApparentBytes <<= 1
		}
		return usage
	}), finished()),
	"space-by-type": play(usual(), withSpace(func(phase, _ string) *result.Usage {
		if phase == "read" {
			return nil
		}
		usage := holding("zfs", "Shown", 3<<28)
		usage.Types = []result.TypeUsage{
			{Extension: "exr", Space: result.Space{Files: 1, ApparentBytes: 1 << 29, DataBytes: 1 << 29, AllocatedBytes: 1 << 28}},
			{Space: result.Space{Files: 2, ApparentBytes: 1 << 28, DataBytes: 1 << 28, AllocatedBytes: 1 << 28}},
			{Extension: "*", Space: result.Space{Files: 1, ApparentBytes: 1 << 28, DataBytes: 1 << 28, AllocatedBytes: 1 << 28}},
		}
		return usage
	}), finished()),
}
