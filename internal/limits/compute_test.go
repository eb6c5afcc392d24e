package limits

import (
	"math"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

func compute(t *testing.T, d Description, spec *v1alpha1.Limits) Computed {
	t.Helper()
	made, err := builtin(t).Compute(d, spec)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func named(t *testing.T, c Computed, name string) Limit {
	t.Helper()
	for _, limit := range c.Limits {
		if limit.Name == name {
			return limit
		}
	}
	t.Fatalf("there is no limit %q: %+v", name, c)
	return Limit{}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-6*math.Abs(want) || math.IsNaN(got) {
		t.Errorf("%s is %.9g, want %.9g", what, got, want)
	}
}

// lustreOf describes a file system of 14.4 TiB at 200 MB/s/TiB: the size of the volume and the parameters of the class
// as a user writes them.
func lustreOf(compression string) Description {
	return Description{Volumes: []Volume{{Driver: "fsx.csi.aws.com", CapacityBytes: 14400 * gi,
		Parameters: class("deploymentType=PERSISTENT_1 perUnitStorageThroughput=200 dataCompressionType=" + compression)}},
		Clients: []Machines{{Type: "c5n.9xlarge", Nodes: 4}}}
}

func TestLustre(t *testing.T) {
	for what, made := range map[string]Computed{
		"discovered": compute(t, lustreOf("NONE"), nil),
		"written":    compute(t, Description{Volumes: []Volume{{}}}, declared("aws-fsx-lustre/persistent-1-ssd-200", "14.4Ti")),
	} {
		disk := named(t, made, "server disk throughput")
		near(t, what, disk.Baseline, 2.88e9)
		if disk.Arithmetic != "14.4 TiB x 200 MB/s/TiB = 2,880 MB/s" || len(disk.Sources) != 1 || disk.Sources[0].URL == "" {
			t.Errorf("%s: %+v", what, disk)
		}
	}
	// The vendor calls 14,400 GiB 14.4 TiB. Other capacities count in TiB of 2^40 bytes.
	near(t, "1 TiB", named(t, compute(t, Description{Volumes: []Volume{{}}}, declared("aws-fsx-lustre/scratch-1", "1Ti")), "server disk throughput").Baseline, 200e6)
	// In some regions the burst is 530 MB/s/TiB. That is less than the baseline of this type, which therefore does not
	// burst.
	frankfurt, slow := lustreOf("NONE"), lustreOf("NONE")
	frankfurt.Region, slow.Region = "eu-central-1", "eu-central-1"
	slow.Volumes[0].Parameters["perUnitStorageThroughput"] = "50"
	if network := named(t, compute(t, frankfurt, nil), "server network"); network.Burst != 0 || network.Baseline != 10.8e9 {
		t.Errorf("%+v", network)
	}
	near(t, "in Frankfurt", named(t, compute(t, slow, nil), "server network").Burst, 530e6*14.4)
	if note := named(t, compute(t, lustreOf("NONE"), nil), "server network").Note; note == "" {
		t.Error("that the burst depends on the region is not said")
	}
}

func TestCompression(t *testing.T) {
	unknown := compute(t, lustreOf("LZ4"), nil)
	if !named(t, unknown, "server disk throughput").StoredBytes || !strings.Contains(unknown.Missing[0].Field, "compression ratio") {
		t.Errorf("%+v", unknown)
	}
	load := Load{BlockBytes: 1 << 20, Operation: Write}
	if got := unknown.At(load).Baseline; got.Limit.Name != "server network" {
		t.Errorf("stored bytes bound the rate of the client: %+v", got)
	}
}

func TestSums(t *testing.T) {
	p30 := Volume{Driver: "disk.csi.azure.com", Attributes: class("skuName=Premium_LRS cachingMode=None"), CapacityBytes: 1024 * gi}
	one, four := p30, p30
	four.Count = 4
	for what, volumes := range map[string][]Volume{"counted": {four}, "listed": {one, one, one, one}} {
		made := compute(t, Description{Volumes: volumes, Clients: []Machines{{Type: "Standard_D32s_v3", Nodes: 1}}}, nil)
		near(t, what+" throughput", named(t, made, "disk throughput").Baseline, 800e6)
		near(t, what+" operations", named(t, made, "disk operations").Baseline, 20000)
		if named(t, made, "disk operations").Units != 4 {
			t.Error("it does not say that it is of four")
		}
	}
	made := compute(t, Description{Volumes: []Volume{four}}, nil)
	if got := named(t, made, "disk throughput").Arithmetic; got != "4 x 200 MB/s = 800 MB/s" {
		t.Error(got)
	}
	// If a part is unknown, the sum is unknown.
	made = compute(t, Description{Volumes: []Volume{one, {Driver: "disk.csi.azure.com"}}}, nil)
	if len(made.Limits) != 0 || len(made.Missing) == 0 || len(made.Notes) == 0 {
		t.Errorf("the limit of one disk stands for two: %+v", made)
	}
	made = compute(t, Description{Volumes: []Volume{four}, Clients: []Machines{{Type: "Standard_D32s_v3", Nodes: 1}, {Type: "Standard_X1", Nodes: 1}}}, nil)
	for _, limit := range made.Limits {
		if limit.Layer == LayerInstance {
			t.Errorf("the limit of one machine stands for two: %+v", limit)
		}
	}
	// A limit that only one of the machine types has is not a limit of all. Standard_L8s_v2 has no limit of operations.
	made = compute(t, Description{Volumes: []Volume{four}, Clients: []Machines{{Type: "Standard_D2s_v3", Nodes: 1}, {Type: "Standard_L8s_v2", Nodes: 1}}}, nil)
	near(t, "two types of machine", named(t, made, "VM uncached throughput").Baseline, 208e6)
	if slices.ContainsFunc(made.Limits, func(l Limit) bool { return l.Name == "VM uncached operations" }) ||
		!slices.Contains(made.Notes, "VM uncached operations is omitted, because it is unknown for some machines") {
		t.Errorf("the limit of one type of machine stands for two: %+v, notes %q", made.Limits, made.Notes)
	}
	// Two claims on one file server count as one server.
	share := Volume{Driver: "smb.csi.k8s.io"}
	near(t, "one server", named(t, compute(t, Description{Volumes: []Volume{share, share}}, declared("aws-fsx-windows/ssd-256", "2Ti")), "server network").Baseline, 300e6)
}

// TestServersOfClaims checks that the limits of a server count once for all its loaded directories and volumes, in the
// result of a run and in its plan, where the driver is unknown. A claim that is a file system has a server of its own.
func TestServersOfClaims(t *testing.T) {
	windows, zfs := declared("aws-fsx-windows/ssd-256", "2Ti"), declared("aws-fsx-openzfs/512", "1Ti")
	for name, test := range map[string]struct {
		volume Volume
		spec   *v1alpha1.Limits
		want   float64 // the baseline of the server's network for four claims
	}{
		"shares, planned":                  {Volume{}, windows, 300e6},
		"shares":                           {Volume{Driver: "smb.csi.k8s.io"}, windows, 300e6},
		"volumes of an OpenZFS, planned":   {Volume{}, zfs, 1600e6},
		"volumes of an OpenZFS":            {Volume{Driver: "fsx.openzfs.csi.aws.com", Attributes: class("ResourceType=volume")}, zfs, 1600e6},
		"directories of an NFS export":     {Volume{Driver: "nfs.csi.k8s.io"}, zfs, 1600e6},
		"static volumes of an NFS export":  {Volume{Driver: "nfs"}, zfs, 1600e6},
		"OpenZFS file systems":             {Volume{Driver: "fsx.openzfs.csi.aws.com", Parameters: class("ResourceType=filesystem ThroughputCapacity=512")}, nil, 4 * 1600e6},
		"OpenZFS file systems by a preset": {Volume{Driver: "fsx.openzfs.csi.aws.com", Attributes: class("ResourceType=filesystem")}, zfs, 4 * 1600e6},
		"Lustre file systems, planned":     {Volume{}, declared("aws-fsx-lustre/scratch-2", "1200Gi"), 4 * 240e6},
	} {
		counted := test.volume
		counted.Count = 4
		for how, volumes := range map[string][]Volume{"counted": {counted}, "listed": {test.volume, test.volume, test.volume, test.volume}} {
			made := compute(t, Description{Volumes: volumes}, test.spec)
			near(t, name+" "+how, named(t, made, "server network").Baseline, test.want)
		}
	}
}

func TestMachines(t *testing.T) {
	lustre := compute(t, lustreOf("NONE"), nil)
	near(t, "four c5n.9xlarge", named(t, lustre, "instance network").Baseline, 25e9)
	if !strings.Contains(lustre.Missing[0].What, "one connection is limited to 5 Gbit/s") {
		t.Errorf("%+v", lustre.Missing)
	}
	share := Volume{Driver: "smb.csi.k8s.io", MountOptions: []string{"vers=3.1.1,multichannel", "max_channels=4"}}
	smb := compute(t, Description{Volumes: []Volume{share}, Clients: []Machines{{Type: "m5n.8xlarge", Nodes: 2}}}, declared("aws-fsx-windows/hdd-32", "5Ti"))
	if flow := named(t, smb, "one flow"); flow.Arithmetic != "5 Gbit/s; 8 flows x 625 MB/s = 5,000 MB/s" || flow.Baseline != 5e9 || flow.Units != 8 {
		t.Errorf("%+v", flow)
	}
	disk := compute(t, Description{Volumes: []Volume{{Driver: "ebs.csi.aws.com", Parameters: class("")}}, Clients: []Machines{{Type: "m5n.large", Nodes: 1}}}, nil)
	ebs := named(t, disk, "instance EBS throughput")
	near(t, "EBS", ebs.Baseline, 81.25e6)
	near(t, "EBS burst", ebs.Burst, 593.75e6)
	for _, limit := range disk.Limits {
		if limit.Name == "instance network" || limit.Name == "one flow" {
			t.Errorf("a disk is not reached by %q", limit.Name)
		}
	}
	cached := Volume{Driver: "disk.csi.azure.com", Attributes: class("skuName=Premium_LRS"), CapacityBytes: 1024 * gi}
	vm := compute(t, Description{Volumes: []Volume{cached}, Clients: []Machines{{Type: "Standard_D32s_v3", Nodes: 1}}}, nil)
	if got := vm.At(Load{BlockBytes: 1 << 20, Operation: Read, CachedShare: 1}).Baseline; got.Limit.Name != "VM cached throughput" || got.BytesPerSecond != 512e6 {
		t.Errorf("reads from the host's cache are bound by %+v", got)
	}
	if got := vm.At(Load{BlockBytes: 1 << 20, Operation: Write}).Baseline; got.Limit.Name != "disk throughput" || got.BytesPerSecond != 200e6 {
		t.Errorf("writes are bound by %+v", got)
	}
}

func TestDeclared(t *testing.T) {
	quantity := func(text string) *resource.Quantity { made := resource.MustParse(text); return &made }
	spec := &v1alpha1.Limits{ServerMemory: quantity("4Gi"), Throughput: &v1alpha1.RateLimits{Baseline: quantity("32M"), Burst: quantity("260M"), Bucket: quantity("400G")}, IOPS: &v1alpha1.RateLimits{Burst: quantity("12k")}}
	made := compute(t, Description{Volumes: []Volume{{Driver: "ebs.csi.aws.com", Parameters: class("")}}}, spec)
	if len(made.Limits) != 2 || made.Cache.Bytes != 4<<30 || made.Limits[1].Baseline != 12000 || made.Limits[1].Burst != 0 {
		t.Fatalf("%+v", made)
	}
	if l := made.Limits[0]; l.Refill != 32e6 || l.Bucket != 400e9 {
		t.Errorf("%+v", l)
	}
}

// TestBucketArithmetic checks that the shown derivation of a bucket matches its size after limits are added or scaled.
func TestBucketArithmetic(t *testing.T) {
	burst := func(bucket float64, text string) Limit {
		return Limit{Name: "disk", Layer: LayerDisk, Dimension: Bytes, Baseline: 100e6, Burst: 300e6, Bucket: bucket, Refill: 100e6 * min(bucket, 1), Units: 4,
			Arithmetic: "100 MB/s", BurstArithmetic: "300 MB/s", BucketArithmetic: text}
	}
	sum := func(all ...Limit) Limit {
		var made Computed
		for _, one := range all {
			made.add(one)
		}
		return made.Limits[0]
	}
	flat := Limit{Name: "disk", Layer: LayerDisk, Dimension: Bytes, Baseline: 100e6, Units: 4, Arithmetic: "100 MB/s"}
	for name, test := range map[string]struct {
		got            Limit
		bucket, refill float64
		text           string
	}{
		"two volumes":                     {sum(burst(40e9, "40 GB"), burst(60e9, "60 GB")), 100e9, 200e6, "40 GB; 60 GB"},
		"one is not published":            {sum(burst(40e9, "40 GB"), burst(0, "")), 0, 0, ""},
		"the first is not published":      {sum(burst(0, ""), burst(40e9, "40 GB")), 0, 0, ""},
		"one has no burst":                {sum(burst(40e9, "40 GB"), flat), 0, 0, ""},
		"neither has a burst":             {sum(flat, flat), 0, 0, ""},
		"a quarter of the clients":        {burst(40e9, "40 GB").part(0.25, true), 10e9, 25e6, "40 GB, of which 25 % of the clients get 10 GB"},
		"of the clients without a bucket": {flat.part(0.25, true), 0, 0, ""},
	} {
		if l := test.got; l.Bucket != test.bucket || l.Refill != test.refill || l.BucketArithmetic != test.text {
			t.Errorf("%s: %g bytes, refilled by %g: %q, want %g, %g, %q", name, l.Bucket, l.Refill, l.BucketArithmetic, test.bucket, test.refill, test.text)
		}
	}
}

// TestPart checks that one client of eight has an eighth of the limits of eight volumes or machines, but the whole
// limit of a single server or machine, and that it spends the credits of its part only.
func TestPart(t *testing.T) {
	volumes := func(driver, parameters string) []Volume {
		return []Volume{{Driver: driver, Parameters: class(parameters), CapacityBytes: 100 * gi, Count: 8}}
	}
	nodes := func(count int) []Machines { return []Machines{{Type: "m5n.large", Nodes: count}} }
	quantity := func(text string) *resource.Quantity { made := resource.MustParse(text); return &made }
	given := &v1alpha1.Limits{
		Throughput: &v1alpha1.RateLimits{Baseline: quantity("80M"), Burst: quantity("800M"), Bucket: quantity("800G")}}
	disks, files := volumes("ebs.csi.aws.com", "type=gp2"), volumes("efs.csi.aws.com", "")
	for _, test := range []struct {
		limit  string
		of     Description
		spec   *v1alpha1.Limits
		shared bool
		want   float64
	}{
		{"disk operations", Description{Volumes: disks}, nil, false, 0.125},
		{"disk operations", Description{Volumes: disks}, nil, true, 1},
		{"file system throughput", Description{Volumes: files}, declared("aws-efs/bursting", "1Ti"), false, 1},
		{"documented.throughput", Description{Volumes: disks}, given, false, 0.125},
		{"documented.throughput", Description{Volumes: files}, given, false, 1},
		{"instance EBS throughput", Description{Volumes: disks, Clients: nodes(8)}, nil, true, 0.125},
		{"instance EBS throughput", Description{Volumes: disks, Clients: nodes(2)}, nil, false, 0.5},
		{"instance EBS throughput", Description{Volumes: disks, Clients: nodes(1)}, nil, false, 1},
	} {
		all := compute(t, test.of, test.spec)
		all = FromRecord(Record("data", test.of, all)) // as stored in a run
		part := all.Part(0.125, !test.shared)
		near(t, test.limit, named(t, part, test.limit).Baseline, test.want*named(t, all, test.limit).Baseline)
		whole, own := all.Open(), part.Open()
		spent := Spending{Bytes: 90e9, Operations: 1.8e6, Seconds: 600}
		own.Spend(spent)
		spent.Share, spent.OwnVolumes = 0.125, !test.shared
		whole.Spend(spent)
		near(t, "the credits of "+test.limit, whole.Fills()[test.limit].Most, own.Fills()[test.limit].Most)
	}
}

// TestLeastOperationsOfEBS checks that a small volume has the minimum of operations of its type. The driver raises a
// lower value, or refuses to create the volume.
func TestLeastOperationsOfEBS(t *testing.T) {
	for parameters, want := range map[string]float64{
		"type=gp3 iopsPerGB=10": 3000, "type=io1 iopsPerGB=10": 100, "type=io2 iopsPerGB=10": 100,
	} {
		made := compute(t, Description{Volumes: []Volume{{Driver: "ebs.csi.aws.com",
			Parameters: class(parameters + " allowAutoIOPSPerGBIncrease=true"), CapacityBytes: 8 * gi}}}, nil)
		if limit := made.Limits[0]; limit.Name != "disk operations" || limit.Baseline != want {
			t.Errorf("%s: %+v", parameters, limit)
		}
	}
}

// TestEmptied checks that a load at the baseline of a spent bucket spends no credits of other limits if that baseline
// is below theirs.
func TestEmptied(t *testing.T) {
	share := Volume{Driver: "smb.csi.k8s.io"}
	server := compute(t, Description{Volumes: []Volume{share}}, declared("aws-fsx-windows/ssd-32", "1Ti"))
	load := Load{BlockBytes: 64 << 10}
	if spent := server.Spends(load); len(spent) < 2 {
		t.Fatalf("only the credits of %q are spent", spent)
	}
	if spent := server.Emptied([]string{"server disk throughput"}).Spends(load); len(spent) > 0 {
		t.Errorf("after the credits of the disks, those of %q are spent", spent)
	}
}
