package limits

import (
	"math"
	"testing"
)

// TestBlockSizes checks that the block size of a load determines whether bytes or operations limit it.
func TestBlockSizes(t *testing.T) {
	p30 := compute(t, Description{Volumes: []Volume{{Driver: "disk.csi.azure.com", Attributes: class("skuName=Premium_LRS cachingMode=None"), CapacityBytes: 1024 * gi}}}, nil)
	for _, test := range []struct {
		block, bytes, operations float64
		limit, arithmetic        string
	}{
		{4096, 20.48e6, 5000, "disk operations", "5,000 IOPS; 5,000 IOPS x 4 KiB = 20.48 MB/s"},
		{32768, 163.84e6, 5000, "disk operations", "5,000 IOPS; 5,000 IOPS x 32 KiB = 163.84 MB/s"},
		{65536, 200e6, 200e6 / 65536, "disk throughput", "200 MB/s"},
		{1 << 20, 200e6, 200e6 / (1 << 20), "disk throughput", "200 MB/s"}, // 1 MiB counts as four operations
	} {
		got := p30.At(Load{BlockBytes: test.block, Operation: Read}).Baseline
		near(t, "bytes", got.BytesPerSecond, test.bytes)
		near(t, "operations", got.OperationsPerSecond, test.operations)
		if got.Limit.Name != test.limit || got.Arithmetic != test.arithmetic {
			t.Errorf("%g: %s %q", test.block, got.Limit.Name, got.Arithmetic)
		}
	}
	// gp2 counts an operation above its unit of 256 KiB as several, so larger blocks reach 300 x 256 KiB per second.
	gp2 := compute(t, Description{Volumes: []Volume{{Driver: "ebs.csi.aws.com", Parameters: class("type=gp2"), CapacityBytes: 100 * gi}}}, nil)
	near(t, "gp2", gp2.At(Load{BlockBytes: 1 << 20, Operation: Read}).Baseline.BytesPerSecond, 300*256*1024)
	at := p30.At(Load{})
	if at.Baseline.Limit != nil || at.BytesBaseline.BytesPerSecond != 200e6 || at.OperationsBaseline.OperationsPerSecond != 5000 {
		t.Errorf("without a block size: %+v", at)
	}
}

func TestOperations(t *testing.T) {
	scratch := compute(t, Description{Volumes: []Volume{{}}}, declared("aws-fsx-lustre/scratch-2", "1.2Ti"))
	near(t, "reads", scratch.At(Load{BlockBytes: 1 << 20, Operation: Read}).Baseline.BytesPerSecond, 240e6)
	near(t, "writes", scratch.At(Load{BlockBytes: 1 << 20, Operation: Write}).Baseline.BytesPerSecond, 120e6)
	cached := scratch.At(Load{BlockBytes: 1 << 20, Operation: Read, CachedShare: 1}).Burst
	if cached.Limit.Name != "server network" || math.Abs(cached.BytesPerSecond-1.56e9) > 1 {
		t.Errorf("cached reads are bound by %+v", cached)
	}
	half := compute(t, Description{Volumes: []Volume{{}}}, declared("aws-fsx-windows/hdd-32", "5Ti")).At(Load{BlockBytes: 1 << 20, Operation: Read, CachedShare: 0.5}).Burst
	near(t, "half of the reads cached", half.BytesPerSecond, 520e6)
}

// TestDrains compares times that were calculated for the catalog: of a drain from a full bucket at full load, and of a
// refill.
func TestDrains(t *testing.T) {
	volume := func(driver, parameters string, gib int64) Computed {
		return compute(t, Description{Volumes: []Volume{{Driver: driver, Parameters: class(parameters), CapacityBytes: gib * gi}}}, nil)
	}
	for _, test := range []struct {
		what           string
		of             Computed
		limit          string
		block          float64
		drains, refill float64
	}{
		{"EBS gp2 of 100 GiB", volume("ebs.csi.aws.com", "type=gp2", 100), "disk operations", 4096, 2000, 18000},
		{"EBS st1 of 1 TiB", volume("ebs.csi.aws.com", "type=st1", 1024), "disk throughput", 1 << 20, 4993.22, 26214.4},
		{"FSx for Windows, HDD of 1 TiB", compute(t, Description{Volumes: []Volume{{}}}, declared("aws-fsx-windows/volume-hdd", "1Ti")), "volume throughput", 64 << 20, 15420.24, 87381.33},
		{"Azure P4, operations", volume("disk.csi.azure.com", "skuName=Premium_LRS", 32), "disk operations", 4096, 1800, 50700},
		{"Azure P4, bytes", volume("disk.csi.azure.com", "skuName=Premium_LRS", 32), "disk throughput", 1 << 20, 1800, 10440},
		{"Azure P20, operations", volume("disk.csi.azure.com", "skuName=Premium_LRS", 512), "disk operations", 4096, 1800, 939.13},
		{"Azure P20, bytes", volume("disk.csi.azure.com", "skuName=Premium_LRS", 512), "disk throughput", 1 << 20, 1800, 240},
		{"Azure Files v1 of 100 GiB", volume("file.csi.azure.com", "skuName=Premium_LRS", 100), "share operations", 4096, 3600, 8012.9},
		{"EFS of 1 TiB", compute(t, Description{Volumes: []Volume{{}}}, declared("aws-efs/bursting", "1Ti")), "file system throughput", 1 << 20, 44040.2, 44040.2},
	} {
		course := test.of.ThrottleTimeline(Load{BlockBytes: test.block, Operation: Write}, math.Inf(1))
		found := false
		for _, drain := range course.Drains {
			if drain.Limit.Name != test.limit {
				continue
			}
			found = true
			if math.Abs(drain.Seconds-test.drains) > 1 || math.Abs(drain.RefillSeconds-test.refill) > 1 {
				t.Errorf("%s: drains in %.1f s and refills in %.1f s, want %.1f and %.1f", test.what, drain.Seconds, drain.RefillSeconds, test.drains, test.refill)
			}
		}
		if !found {
			t.Errorf("%s: %s does not drain: %+v", test.what, test.limit, course)
		}
	}
}

// TestCourse checks the levels of a load on several buckets: the server's disks burst for half an hour and then stay at
// their baseline.
func TestCourse(t *testing.T) {
	fsx := compute(t, Description{Volumes: []Volume{{}}}, declared("aws-fsx-windows/hdd-32", "5Ti"))
	course := fsx.ThrottleTimeline(Load{BlockBytes: 1 << 20, Operation: Write}, math.Inf(1))
	if len(course.Levels) != 2 || course.Levels[1].StartSeconds != 1800 {
		t.Fatalf("%+v", course)
	}
	near(t, "burst", course.Levels[0].BytesPerSecond, 260e6)
	near(t, "baseline", course.Levels[1].BytesPerSecond, 32e6)
	if len(course.Unpublished) != 2 || course.Unpublished[0].Name != "server network" || course.Unpublished[1].Name != "volume operations" {
		t.Errorf("that the network's burst may end before is not said: %+v", course.Unpublished)
	}
	// Half the burst rate takes longer to drain the bucket: 410.4 GB at 130 - 32 MB/s.
	slow := fsx.ThrottleTimeline(Load{BlockBytes: 1 << 20, Operation: Write}, 130e6)
	near(t, "a slower load", slow.Levels[len(slow.Levels)-1].StartSeconds, 410.4e9/98e6)
	if slow.Levels[0].Limit != nil {
		t.Errorf("%+v holds a load that asks for no more", slow.Levels[0].Limit)
	}
	// A load below the refill never drains the bucket.
	if idle := fsx.ThrottleTimeline(Load{BlockBytes: 1 << 20, Operation: Write}, 30e6); len(idle.Levels) != 1 || idle.Levels[0].StartSeconds != 0 {
		t.Errorf("%+v", idle)
	}
	// Of the two buckets of a P20, only that of bytes empties. At 64 KiB, 3,500 IOPS would be 229 MB/s, so the limit of
	// 170 MB/s applies for 1,800 s. At the baseline the load then needs 2,288.8 operations per second, which the refill of
	// 2,300 covers.
	p20 := compute(t, Description{Volumes: []Volume{{Driver: "disk.csi.azure.com", Parameters: class("skuName=Premium_LRS"), CapacityBytes: 512 * gi}}}, nil)
	both := p20.ThrottleTimeline(Load{BlockBytes: 65536, Operation: Write}, math.Inf(1))
	near(t, "the second level", both.Levels[1].BytesPerSecond, 150e6)
	if len(both.Levels) != 2 || both.Levels[0].Limit.Name != "disk throughput" || !both.Levels[0].Burst || both.Levels[1].Burst {
		t.Errorf("%+v", both.Levels)
	}
	if none := (Computed{}).ThrottleTimeline(Load{BlockBytes: 4096}, math.Inf(1)); len(none.Levels) != 0 {
		t.Errorf("%+v of nothing", none)
	}
	if none := fsx.ThrottleTimeline(Load{}, math.Inf(1)); len(none.Levels) != 0 {
		t.Errorf("%+v of a load of unknown size", none)
	}
}
