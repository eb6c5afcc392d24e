package conductor

import (
	"math"
	"testing"

	"github.com/storagebench/storagebench/internal/agentapi"
)

// TestUsageOfAnAgent checks that reported disk usage is validated.
func TestUsageOfAnAgent(t *testing.T) {
	t.Parallel()
	good := func() *agentapi.Usage {
		return &agentapi.Usage{
			Files: 3, ApparentBytes: 30, DataBytes: 20, AllocatedBytes: 512, FilesystemType: "zfs\x1b[31m", Compression: "Shown", Settled: true,
			Types: []*agentapi.TypeUsage{{Extension: "exr", Files: 1, ApparentBytes: 10, DataBytes: 10, AllocatedBytes: 512}, {Files: 2, ApparentBytes: 20, DataBytes: 10}},
		}
	}
	usage, err := usageOf(good())
	if err != nil || usage.Files != 3 || usage.AllocatedBytes != 512 || len(usage.Types) != 2 || !usage.Settled || usage.HolesKnown || usage.FileSystem == "zfs\x1b[31m" {
		t.Errorf("got %+v, %v", usage, err)
	}
	if usage, err := usageOf(nil); usage != nil || err != nil {
		t.Errorf("no usage reported: %+v, %v", usage, err)
	}
	for name, change := range map[string]func(*agentapi.Usage){
		"a sum that is none":      func(u *agentapi.Usage) { u.AllocatedBytes++ },
		"more data than there is": func(u *agentapi.Usage) { u.DataBytes, u.Types[0].DataBytes = 31, 21 },
		"too many types":          func(u *agentapi.Usage) { u.Types = make([]*agentapi.TypeUsage, 17) },
		"a type with a path":      func(u *agentapi.Usage) { u.Types[0].Extension = "../x" },
		"a sum that overflows": func(u *agentapi.Usage) {
			u.Types[0].AllocatedBytes, u.Types[1].AllocatedBytes, u.AllocatedBytes = math.MaxUint64, math.MaxUint64, math.MaxUint64
		},
	} {
		told := good()
		change(told)
		if usage, err := usageOf(told); err == nil {
			t.Errorf("%s: taken as %+v", name, usage)
		}
	}
}
