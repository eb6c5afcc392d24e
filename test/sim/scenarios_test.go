package sim_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/burstfs"
	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/burstfs/truth"
)

// percent is the maximum difference of a figure from the store's parameters, or from the store's own record if no
// parameter applies.
const percent = 0.5

// bytes and operations return buckets. With a size of 0, a bucket is a limit without credits.
func bytes(name string, baseline, burst, size, refill float64) model.Bucket {
	bucket := model.Bucket{Name: name, Counts: model.CountsBytes, BaselinePerSecond: baseline, BurstPerSecond: burst, Size: size}
	if refill > 0 {
		bucket.RefillPerSecond = &refill
	}
	return bucket
}

func operations(name string, baseline, burst, size float64) model.Bucket {
	return model.Bucket{Name: name, Counts: model.CountsOperations, BaselinePerSecond: baseline, BurstPerSecond: burst, Size: size}
}

// load returns a fio workload. depth is its number of outstanding blocks.
func load(pattern v1alpha1.FioPattern, reads int32, block string, depth int32) *builders.FioBuilder {
	return builders.Fio().BlockSize(block).ReadPercent(reads).Mutate(func(p *v1alpha1.FioProfile) {
		p.Pattern, p.QueueDepth = pattern, &depth
		p.DatasetSize = resource.MustParse("1Gi")
	})
}

// scenario is a model of a real system at its full size, and the benchmark that runs on it. blocks is the number of
// blocks of the load that form one request of the model. test/burstfs has small versions of the stores; its files
// document the sources of the parameters.
type scenario struct {
	name    string
	store   model.Config
	load    *builders.FioBuilder
	phases  func(*builders.BenchmarkBuilder) *builders.BenchmarkBuilder
	blocks  int64
	clients int32
	// drains names the bucket whose credits end, or is empty if no credits end.
	drains string
}

func drain(atLeast, atMost v1alpha1.Duration) func(*builders.BenchmarkBuilder) *builders.BenchmarkBuilder {
	return func(b *builders.BenchmarkBuilder) *builders.BenchmarkBuilder {
		return b.BurstDrain("burst", atLeast, atMost)
	}
}

func steady(length v1alpha1.Duration) func(*builders.BenchmarkBuilder) *builders.BenchmarkBuilder {
	return func(b *builders.BenchmarkBuilder) *builders.BenchmarkBuilder {
		return b.Steady("steady", length).WarmUp("30s")
	}
}

const (
	sequential = v1alpha1.FioSequential
	random     = v1alpha1.FioRandom
	tebibyte   = 1 << 40
)

// fsxDisk is the disk limit of FSx for Windows at 32 MB/s: a burst of 30 minutes, which takes a day to refill.
var fsxDisk = bytes("disk", 32e6, 260e6, (260e6-5.3e6)*1800, 5.3e6)

var scenarios = []scenario{
	{name: "facts", store: facts(), load: load(sequential, 0, "64Ki", 16), phases: drain("1m", "30m"), blocks: 4, clients: 1, drains: "volume"},
	{name: "facts-soon", store: facts(), load: load(sequential, 0, "64Ki", 16), phases: drain("20s", "30m"), blocks: 4, clients: 1, drains: "volume"},
	{name: "fsx-windows-32-hdd", store: model.Config{Latency: model.Latency{Fixed: time.Millisecond}, Buckets: []model.Bucket{
		fsxDisk, bytes("network", 32e6, 600e6, 568e6*1800, 0), operations("operations", 2000, 12000, 10000*1800)}},
		load: load(sequential, 0, "1Mi", 32), phases: drain("2m", "2h"), blocks: 8, clients: 2, drains: "disk"},
	{name: "azure-p20", store: azureP20, load: load(sequential, 0, "1Mi", 32), phases: drain("5m", "2h"), blocks: 2, clients: 1, drains: "throughput"},
	{name: "azure-p20-operations", store: azureP20, load: load(random, 100, "4Ki", 256), phases: drain("5m", "2h"), blocks: 64, clients: 1, drains: "operations"},
	{name: "azure-p30-operations", store: azureP30, load: load(random, 0, "4Ki", 128), phases: steady("15m"), blocks: 64, clients: 1},
	{name: "azure-p30-one-at-a-time", store: azureP30, load: load(random, 0, "4Ki", 1), phases: steady("10m"), blocks: 1, clients: 1},
	{name: "azure-p30-throughput", store: azureP30, load: load(sequential, 100, "256Ki", 32), phases: steady("15m"), blocks: 8, clients: 1},
	{name: "azure-vm-cap", store: azureVM, load: load(sequential, 100, "256Ki", 64), phases: steady("15m"), blocks: 32, clients: 1},
	{name: "azure-vm-cap-operations", store: azureVM, load: load(random, 100, "4Ki", 512), phases: steady("15m"), blocks: 256, clients: 1},
	{name: "ebs-gp2", store: model.Config{Latency: model.Latency{Fixed: 700 * time.Microsecond}, Buckets: []model.Bucket{
		operations("operations", 300, 3000, 5.4e6), bytes("throughput", 128<<20, 0, 0, 0)}},
		load: load(random, 0, "16Ki", 64), phases: drain("5m", "3h"), blocks: 16, clients: 1, drains: "operations"},
	{name: "azure-files", store: model.Config{Latency: model.Latency{Fixed: 2 * time.Millisecond}, Buckets: []model.Bucket{
		operations("operations", 3100, 10000, 6900*3600), bytes("throughput", 110<<20, 0, 0, 0)}},
		load: load(random, 0, "4Ki", 256), phases: drain("5m", "3h"), blocks: 64, clients: 1, drains: "operations"},
}

var azureP20 = model.Config{Latency: model.Latency{Fixed: 2 * time.Millisecond}, Buckets: []model.Bucket{
	bytes("throughput", 150e6, 170e6, 20e6*1800, 0),
	{Name: "operations", Counts: model.CountsOperations, OperationBytes: 262144, BaselinePerSecond: 2300, BurstPerSecond: 3500, Size: 1200 * 1800}}}

var azureP30 = model.Config{Latency: model.Latency{Fixed: 3 * time.Millisecond, Floor: 4 * time.Millisecond}, Buckets: []model.Bucket{
	bytes("throughput", 200e6, 0, 0, 0),
	{Name: "operations", Counts: model.CountsOperations, OperationBytes: 262144, BaselinePerSecond: 5000}}}

var azureVM = model.Config{Latency: model.Latency{Fixed: 3 * time.Millisecond, Floor: 4 * time.Millisecond}, Buckets: []model.Bucket{
	bytes("machine", 768e6, 0, 0, 0), operations("machine-operations", 51200, 0, 0),
	bytes("disks", 800e6, 0, 0, 0), operations("disks-operations", 20000, 0, 0)}}

// TestScenarios checks that the figures of a run on each system match the system's parameters, or the store's own
// record where no parameter applies.
func TestScenarios(t *testing.T) { carryOut(t, scenarios) }

func carryOut(t *testing.T, scenarios []scenario) {
	t.Helper()
	for _, test := range scenarios {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				b := test.phases(builders.Benchmark("b").Target("store").Clients(test.clients).Workload(test.load).Prepare("layout"))
				w := world(t, b, test.store, test.blocks)
				run := conduct(t, w)
				complete(t, run)
				against(t, w.House.Record("store"), test.store, run)
				if burst := run.Status.Phases[len(run.Status.Phases)-1].Targets[0].Burst; (burst != nil && burst.Exhausted) != (test.drains != "") {
					t.Errorf("credits ended: %t, of bucket %q", burst != nil && burst.Exhausted, test.drains)
				}
			})
		})
	}
}

// TestRefill drains a volume of hard disks, leaves it idle for six hours, and drains it again. The measured refill must
// match the volume's refill rate, which differs from its baseline.
func TestRefill(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		store := model.Config{Latency: model.Latency{Fixed: time.Millisecond}, Buckets: []model.Bucket{fsxDisk}}
		b := builders.Benchmark("b").Target("store").Workload(load(sequential, 0, "1Mi", 32)).Prepare("layout").
			BurstDrain("burst", "5m", "2h").Redrain("refill", "6h").AtMost("8h")
		w := world(t, b, store, 8)
		run := conduct(t, w)
		complete(t, run)
		against(t, w.House.Record("store"), store, run)
		refill := run.Status.Phases[2].Targets[0].Burst.Bytes
		if refill.RefillSource != "Measured" || math.Abs(float64(refill.Refill.Value)/5.3e6-1) > percent/100 {
			t.Errorf("refill %+v, %s", refill.Refill, refill.RefillSource)
		}
	})
}

// TestSpentAgain drains a bucket, keeps it empty for a while, lets it refill, and drains it again. Both drains must
// find the same size of the bucket. What the store answered at its baseline, which is above the refill rate, is not
// part of the bucket.
func TestSpentAgain(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		const size = 1220e6
		store := model.Config{Latency: model.Latency{Fixed: time.Millisecond},
			Buckets: []model.Bucket{bytes("disk", 8e6, 65e6, size, 4e6)}}
		b := builders.Benchmark("b").Target("store").Throughput("8M", "65M", "1220M", "4M").
			Workload(load(sequential, 0, "64Ki", 16).Dataset("64Mi")).Prepare("layout").
			BurstDrain("burst", "1m", "30m").Steady("baseline", "15m").UntilCredits("pause", 100).
			BurstDrain("again", "1m", "30m")
		run := conduct(t, world(t, b, store, 4))
		complete(t, run)
		for _, phase := range []string{"burst", "again"} {
			drain := run.Status.Result(phase, "store").Burst
			if !drain.Exhausted {
				t.Fatalf("%s: %+v", phase, drain)
			}
			if spent := float64(drain.Bytes.Drops[0].Spent.Value); math.Abs(spent/size-1) > 0.02 {
				t.Errorf("%s: %g B were spent of %g", phase, spent, size)
			}
		}
	})
}

// TestScenariosAreThere checks that each store of test/burstfs has a scenario at its full size.
func TestScenariosAreThere(t *testing.T) {
	for _, name := range burstfs.Scenarios() {
		found := name == "fsx-windows-32-hdd-dips"
		for _, test := range append(slices.Clone(scenarios), longScenarios...) {
			found = found || strings.HasPrefix(test.name, name)
		}
		if !found {
			t.Errorf("%s is not simulated at its full size", name)
		}
	}
}

// complete fails the test unless the run is complete.
func complete(t *testing.T, run *v1alpha1.BenchmarkRun) {
	t.Helper()
	if run.Status.Stage != v1alpha1.StageComplete {
		t.Fatalf("the run is %s: %s", run.Status.Stage, run.Status.Message)
	}
}

// against compares the figures of a run with the store's parameters, or with the store's own record where no parameter
// applies.
func against(t *testing.T, record truth.Record, config model.Config, run *v1alpha1.BenchmarkRun) {
	t.Helper()
	rows := truth.Compare(record, config, run.Status)
	if len(rows) < 2 {
		t.Error("nothing was compared")
	}
	for _, row := range rows {
		if row.Figure == "spent" && row.Phase == "burst" && config.Buckets[0].Refill() != config.Buckets[0].BaselinePerSecond {
			continue // Without documented limits, the credits are computed with the baseline as the refill rate.
		}
		if !math.IsNaN(row.Parameter) {
			// The record has a resolution of one second, so the parameters are more precise about the end of the credits.
			row.Truth = row.Parameter
		}
		if row.Off(percent) {
			t.Errorf("%s, %s: %g, and the truth is %g (%+.2f %%)", row.Phase, row.Figure, row.Ours, row.Truth, row.OffPercent())
		}
	}
	t.Log("\n" + truth.Table(rows))
}
