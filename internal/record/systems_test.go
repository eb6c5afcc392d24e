package record_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/golden"
)

// computed returns the limits from the built-in catalog.
func computed(t *testing.T, d limits.Description, declared *v1alpha1.Limits) limits.Computed {
	t.Helper()
	catalog, err := limits.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	made, err := catalog.Compute(d, declared)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// same compares what a run reports about its rates with a golden file.
func same(t *testing.T, name string, found any) {
	t.Helper()
	got, err := json.MarshalIndent(found, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name+".golden.json")
	if *golden.Update {
		if err := os.WriteFile(path, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if difference := cmp.Diff(string(want), string(got)+"\n"); difference != "" {
		t.Errorf("differs (-want +got):\n%s", difference)
	}
}

// plain returns a limit without credits.
func plain(name string, counts model.Counts, perSecond float64) model.Bucket {
	return model.Bucket{Name: name, Counts: counts, BaselinePerSecond: perSecond}
}

// TestMachineAboveDisks simulates a machine that lets 768 MB/s pass to four disks of 200 MB/s each, with eight
// outstanding operations per thread of 4 ms each. With 18 threads of 64 KiB, the suspects are the machine and the
// disks. A single thread of 4 KiB reaches 1,985 IOPS, because its queue depth is too low.
func TestMachineAboveDisks(t *testing.T) {
	documented := computed(t, limits.Description{Clients: []limits.Machines{{Type: "Standard_D32s_v3", Nodes: 1}}, Volumes: []limits.Volume{{
		Driver: "disk.csi.azure.com", Attributes: map[string]string{"skuName": "Premium_LRS", "cachingMode": "None"}, CapacityBytes: 1 << 40, Count: 4}}}, nil)
	threads := func(b *builders.BenchmarkBuilder, name string, steps ...int64) *builders.BenchmarkBuilder {
		return b.Ramp(name, v1alpha1.RampJobs, "1s", steps...).Mutate(func(r *v1alpha1.RunSpec) { r.Phases[len(r.Phases)-1].Ramp.WarmUp = "1s" })
	}
	for _, test := range []struct {
		name, block string
		bytes       int64
		steps       []int64
	}{{"machine-above-disks", "64Ki", 64 << 10, []int64{1, 2, 9, 18}}, {"single-thread", "4Ki", 4 << 10, []int64{1, 2, 4, 9}}} {
		t.Run(test.name, func(t *testing.T) {
			profile := builders.Fio().Reads().BlockSize(test.block).Dataset("36Gi").Mutate(func(p *v1alpha1.FioProfile) {
				size := resource.MustParse("36Gi")
				p.DatasetSize, p.FileSharing = size, v1alpha1.FilesShared
			})
			l := newLab(t, threads(builders.Benchmark("b").Target("server").Workload(profile).Prepare("layout"), "threads", test.steps...), documented, 0)
			store, err := model.New(model.Config{Latency: model.Latency{Fixed: 3980 * time.Microsecond}, Buckets: []model.Bucket{
				plain("vm bytes", model.CountsBytes, 768e6), plain("vm operations", model.CountsOperations, 51200),
				plain("disk bytes", model.CountsBytes, 800e6), plain("disk operations", model.CountsOperations, 20000)}})
			if err != nil {
				t.Fatal(err)
			}
			l.store, l.load = store, model.Load{Kind: model.Read, Bytes: test.bytes, FileBytes: 1 << 30}
			l.all()
			same(t, test.name, l.phase("threads").Steps)
		})
	}
}

// TestFileServerDrain simulates a file server of 32 MB/s on hard disks, with writes of 1 MiB. Burst and baseline must
// be distinguished, each with its share of the documented rate, and spent credits must be the cause in the phase after
// the drain.
func TestFileServerDrain(t *testing.T) {
	size := resource.MustParse("5Ti")
	documented := computed(t, limits.Description{Volumes: []limits.Volume{{}}}, &v1alpha1.Limits{Preset: "aws-fsx-windows/hdd-32", Capacity: &size})
	profile := builders.Fio().BlockSize("1Mi").Dataset("8Gi").Mutate(func(p *v1alpha1.FioProfile) {
		depth := int32(32)
		p.QueueDepth, p.Pattern = &depth, v1alpha1.FioSequential
	})
	l := newLab(t, builders.Benchmark("b").Target("share").Workload(profile).BurstDrain("burst", "2m", "40m").Steady("baseline", "5m"), documented, 6*24*time.Hour)
	store, err := model.New(model.Config{Latency: model.Latency{Fixed: 3 * time.Millisecond}, Buckets: []model.Bucket{
		{Name: "disks", Counts: model.CountsBytes, BaselinePerSecond: 31.4e6, BurstPerSecond: 257e6, Size: 228e6 * 1800},
		plain("network", model.CountsBytes, 600e6)}})
	if err != nil {
		t.Fatal(err)
	}
	l.store, l.load = store, model.Load{Kind: model.Write, Bytes: 1 << 20, FileBytes: 8 << 30}
	l.all()
	same(t, "file-server-drain", map[string]any{"burst": l.phase("burst").Attributions, "baseline": l.phase("baseline").Attributions, "storage": l.run.Status.Storage})
}
