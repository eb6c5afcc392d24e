package limits

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// class parses the parameters of a StorageClass, such as "a=1 b=2".
func class(text string) map[string]string {
	made := map[string]string{}
	for word := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(word, "=")
		made[name] = value
	}
	return made
}

// declared returns the limits of a preset with a capacity.
func declared(preset, capacity string) *v1alpha1.Limits {
	made := &v1alpha1.Limits{Preset: preset}
	if capacity != "" {
		size := resource.MustParse(capacity)
		made.Capacity = &size
	}
	return made
}

const gi = 1 << 30

// TestDrivers checks how a volume is identified from its driver, or which field the user must set.
func TestDrivers(t *testing.T) {
	catalog := builtin(t)
	for name, test := range map[string]struct {
		volume  Volume
		rows    string // the rows that the limits come from, in order
		missing string // part of the message about what is missing, with the field
	}{
		"gp3 by default":               {Volume{Driver: "ebs.csi.aws.com", Parameters: class("")}, "aws-ebs/gp3", ""},
		"gp2":                          {Volume{Driver: "ebs.csi.aws.com", Parameters: class("type=gp2"), CapacityBytes: 100 * gi}, "aws-ebs/gp2", ""},
		"gp2 without a size":           {Volume{Driver: "ebs.csi.aws.com", Parameters: class("type=gp2")}, "", "documented.capacity: the size of the storage is unknown"},
		"EBS without a class":          {Volume{Driver: "ebs.csi.aws.com", Attributes: class("storage.kubernetes.io/csiProvisionerIdentity=1")}, "", "documented.preset: the type of the EBS volume is unknown"},
		"EBS changed afterwards":       {Volume{Driver: "ebs.csi.aws.com", Modified: class("type=gp3 iops=4000 throughput=200")}, "aws-ebs/gp3", ""},
		"EBS changed, half known":      {Volume{Driver: "ebs.csi.aws.com", Modified: class("type=gp3 iops=4000")}, "aws-ebs/gp3", "throughput: the provisioned rate is unknown"},
		"an EBS type of its own":       {Volume{Driver: "ebs.csi.aws.com", Parameters: class("type=standard")}, "", `documented.preset: the catalog has no EBS volume type "standard"`},
		"io1 without IOPS":             {Volume{Driver: "ebs.csi.aws.com", Parameters: class("type=io1"), CapacityBytes: 100 * gi}, "aws-ebs/io1", "iops: the provisioned rate is unknown"},
		"IOPS that are no number":      {Volume{Driver: "ebs.csi.aws.com", Parameters: class("iops=many")}, "aws-ebs/gp3", `iops: the parameter is "many", not a number above zero`},
		"a P30":                        {Volume{Driver: "disk.csi.azure.com", Attributes: class("skuname=Premium_LRS requestedsizegib=1024 cachingMode=None"), CapacityBytes: 1024 * gi}, "azure-disk/p30", ""},
		"a size between two tiers":     {Volume{Driver: "disk.csi.azure.com", Attributes: class("skuName=Premium_ZRS cachingMode=None"), CapacityBytes: 513 * gi}, "azure-disk/p30", ""},
		"a P30 that bursts for money":  {Volume{Driver: "disk.csi.azure.com", Attributes: class("skuName=Premium_LRS enableBursting=true"), CapacityBytes: 1024 * gi}, "azure-disk/p30-on-demand", ""},
		"a P20 has credits anyway":     {Volume{Driver: "disk.csi.azure.com", Attributes: class("skuName=Premium_LRS enableBursting=true"), CapacityBytes: 512 * gi}, "azure-disk/p20", ""},
		"performance plus":             {Volume{Driver: "disk.csi.azure.com", Attributes: class("skuName=StandardSSD_LRS enablePerformancePlus=true"), CapacityBytes: 1024 * gi}, "azure-disk/e30-performance-plus", ""},
		"standard SSD by default":      {Volume{Driver: "disk.csi.azure.com", Parameters: class(""), CapacityBytes: 8 * gi}, "azure-disk/e2", ""},
		"Premium SSD v2":               {Volume{Driver: "disk.csi.azure.com", Attributes: class("skuName=PremiumV2_LRS")}, "azure-disk/premium-v2", ""},
		"an Azure HDD":                 {Volume{Driver: "disk.csi.azure.com", Attributes: class("skuName=Standard_LRS"), CapacityBytes: gi}, "", `documented.preset: the catalog has no disk type "Standard_LRS"`},
		"a disk larger than all":       {Volume{Driver: "disk.csi.azure.com", Attributes: class("skuName=Premium_LRS"), CapacityBytes: 40000 * gi}, "", "documented.preset: no tier of Premium_LRS in the catalog is large enough for 40,000 GiB"},
		"an Azure disk of nothing":     {Volume{Driver: "disk.csi.azure.com", CapacityBytes: gi}, "", "documented.preset: the disk type is unknown"},
		"a static Azure disk":          {Volume{Driver: "disk.csi.azure.com", Attributes: class("fsType=ext4"), CapacityBytes: 1024 * gi}, "", "documented.preset: the disk type is unknown"},
		"a static P30":                 {Volume{Driver: "disk.csi.azure.com", Attributes: class("fsType=ext4 skuName=Premium_LRS cachingMode=None"), CapacityBytes: 1024 * gi}, "azure-disk/p30", ""},
		"a disk whose class is gone":   {Volume{Driver: "disk.csi.azure.com", Attributes: class("storage.kubernetes.io/csiProvisionerIdentity=1"), CapacityBytes: 8 * gi}, "azure-disk/e2", ""},
		"a static share":               {Volume{Driver: "file.csi.azure.com", Attributes: class("resourceGroup=a shareName=b"), CapacityBytes: 100 * gi}, "", "documented.preset: the share type is unknown"},
		"an SSD share":                 {Volume{Driver: "file.csi.azure.com", Attributes: class("skuName=Premium_LRS"), CapacityBytes: 100 * gi}, "azure-files/ssd-v1", ""},
		"a provisioned share":          {Volume{Driver: "file.csi.azure.com", Attributes: class("skuName=PremiumV2_LRS provisionedIOPS=5000 provisionedBandwidth=200")}, "azure-files/ssd-v2", ""},
		"a share as you go":            {Volume{Driver: "file.csi.azure.com", Parameters: class("")}, "", `documented.preset: shares of type "Standard_LRS" are pay-as-you-go`},
		"Lustre":                       {Volume{Driver: "fsx.csi.aws.com", Attributes: class("dnsname=a mountname=b"), Parameters: class("deploymentType=PERSISTENT_2 perUnitStorageThroughput=250"), CapacityBytes: 1200 * gi}, "aws-fsx-lustre/persistent-2-ssd-250", ""},
		"Lustre by default":            {Volume{Driver: "fsx.csi.aws.com", Parameters: class(""), CapacityBytes: 1200 * gi}, "aws-fsx-lustre/scratch-1", ""},
		"Lustre without a class":       {Volume{Driver: "fsx.csi.aws.com", Attributes: class("dnsname=a mountname=b"), CapacityBytes: 1200 * gi}, "", "documented.preset: the deployment type of the FSx for Lustre volume is unknown"},
		"Lustre of another kind":       {Volume{Driver: "fsx.csi.aws.com", Parameters: class("deploymentType=PERSISTENT_2 perUnitStorageThroughput=77")}, "", "documented.preset: the catalog has no aws-fsx-lustre/persistent-2-ssd-77; known names are"},
		"an SMB share":                 {Volume{Driver: "smb.csi.k8s.io", Attributes: class("source=//fs/share"), CapacityBytes: gi}, "", "documented.preset: the server behind an SMB share cannot be discovered; set documented.preset, such as aws-fsx-windows/hdd-32"},
		"EFS":                          {Volume{Driver: "efs.csi.aws.com", Parameters: class(""), CapacityBytes: gi}, "", "documented.preset: the throughput mode and the stored size of an EFS file system cannot be discovered"},
		"OpenZFS":                      {Volume{Driver: "fsx.openzfs.csi.aws.com", Parameters: class(`ResourceType="filesystem" ThroughputCapacity="512"`), CapacityBytes: 64 * gi}, "aws-fsx-openzfs/512", ""},
		"OpenZFS, a volume of another": {Volume{Driver: "fsx.openzfs.csi.aws.com", Parameters: class(`ResourceType="volume" ParentVolumeId="fsvol-1"`), CapacityBytes: 64 * gi}, "", "documented.preset: the throughput capacity of the FSx for OpenZFS file system is unknown"},
		"an unknown driver":            {Volume{Driver: "nfs.csi.k8s.io", Parameters: class(""), CapacityBytes: gi}, "", `documented.preset: the catalog has no CSI driver "nfs.csi.k8s.io"`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := catalog.Compute(Description{Volumes: []Volume{test.volume}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			var rows []string
			for _, limit := range got.Limits {
				rows = append(rows, limit.Row)
			}
			if rows := strings.Join(slices.Compact(rows), " "); rows != test.rows && test.missing == "" {
				t.Errorf("limits of %q, want %q; missing %+v", rows, test.rows, got.Missing)
			}
			if test.rows == "" && len(got.Limits) > 0 {
				t.Errorf("limits were guessed: %+v", got.Limits)
			}
			said := ""
			for _, missing := range got.Missing {
				said += missing.Field + ": " + missing.What + "\n"
			}
			if !strings.Contains(said, test.missing) || test.missing == "" && strings.Contains(said, "limits.") {
				t.Errorf("missing %q, want %q", said, test.missing)
			}
		})
	}
}

// TestReached checks that the machine's limits are those on the path to the storage, and that there are none if the
// path is unknown.
func TestReached(t *testing.T) {
	catalog := builtin(t)
	for name, test := range map[string]struct {
		volume Volume
		preset string
		want   string
	}{
		"a share that is not known":      {Volume{Driver: "smb.csi.k8s.io"}, "", "instance network"},
		"a disk that is not known":       {Volume{Driver: "ebs.csi.aws.com"}, "", "instance EBS throughput"},
		"a driver that is not known":     {Volume{Driver: "x.example.com"}, "", ""},
		"a file server by preset":        {Volume{Driver: "x.example.com"}, "aws-fsx-windows/ssd-256", "instance network"},
		"a disk by preset":               {Volume{}, "aws-ebs/st1", "instance EBS throughput"},
		"a preset that does not show it": {Volume{}, "aws-efs/bursting", ""},
	} {
		var spec *v1alpha1.Limits
		if test.preset != "" {
			spec = declared(test.preset, "1Ti")
		}
		got, err := catalog.Compute(Description{Volumes: []Volume{test.volume}, Clients: []Machines{{Type: "m5n.8xlarge", Nodes: 1}}}, spec)
		if err != nil {
			t.Fatal(err)
		}
		first := ""
		if len(got.Limits) > 0 && got.Limits[0].Layer == LayerInstance {
			first = got.Limits[0].Name
		}
		if first != test.want {
			t.Errorf("%s: %q, want %q", name, first, test.want)
		}
		if said := slices.ContainsFunc(got.Missing, func(m Missing) bool { return strings.Contains(m.What, "a network file system or a disk") }); said != (test.want == "") {
			t.Errorf("%s: missing %+v", name, got.Missing)
		}
	}
}

func TestPresets(t *testing.T) {
	catalog := builtin(t)
	got, err := catalog.Compute(Description{Volumes: []Volume{{Driver: "smb.csi.k8s.io", CapacityBytes: 7}}}, declared("aws-fsx-windows/hdd-32", "5Ti"))
	if err != nil || len(got.Limits) != 5 || got.Cache.Bytes != 4e9 {
		t.Fatalf("%v, %+v", err, got)
	}
	if l := got.Limits[3]; l.Arithmetic != "5 TiB x 12 MiB/s/TiB = 60 MiB/s" || l.BurstArithmetic != "5 TiB x 80 MiB/s/TiB = 400 MiB/s" || l.BucketArithmetic != "5 TiB x 1 TiB/TiB = 5 TiB" {
		t.Errorf("%+v", l)
	}
	got, err = catalog.Compute(Description{Volumes: []Volume{{Driver: "smb.csi.k8s.io"}}}, declared("aws-fsx-windows/hdd-32", ""))
	if err != nil || len(got.Limits) != 3 || got.Missing[0].Field != "documented.capacity" {
		t.Errorf("without a size: %v, %+v", err, got)
	}
	_, err = catalog.Compute(Description{Volumes: []Volume{{}}}, declared("aws-fsx-windows/hdd-33", ""))
	if err == nil || !strings.Contains(err.Error(), `documented.preset: "aws-fsx-windows/hdd-33" does not exist in the catalog of limits; similar names are aws-fsx-windows/hdd-32, `) {
		t.Error(err)
	}
	_, err = catalog.Compute(Description{Volumes: []Volume{{}}}, declared("nonsense", ""))
	if err == nil || !strings.Contains(err.Error(), "known names are aws-ebs/..., aws-ec2/...") {
		t.Error(err)
	}
	for _, name := range catalog.Presets() {
		if _, err := catalog.Compute(Description{Volumes: []Volume{{CapacityBytes: 1 << 40}}}, declared(name, "")); err != nil {
			t.Errorf("preset %s: %v", name, err)
		}
	}
}
