package discover_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/discover"
	"github.com/storagebench/storagebench/internal/limits"
)

func at(minutes int) metav1.Time {
	return metav1.Time{Time: time.Unix(1_700_000_000, 0).Add(time.Duration(minutes) * time.Minute)}
}

// made returns a claim and its volume as the cluster and the driver's provisioner create them.
func made(driver, handle, class, size string, attributes map[string]string) discover.Claim {
	mode := corev1.PersistentVolumeFilesystem
	quantity := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
	return discover.Claim{
		Volume: "data",
		Claim: &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: "claim", Namespace: "storage", CreationTimestamp: at(10), Annotations: map[string]string{
				"pv.kubernetes.io/bind-completed": "yes", "volume.kubernetes.io/storage-provisioner": driver}},
			Spec:   corev1.PersistentVolumeClaimSpec{StorageClassName: &class, VolumeMode: &mode, VolumeName: "pvc-1", AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}},
			Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: quantity},
		},
		PV: &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: "pvc-1", CreationTimestamp: at(11), Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": driver}},
			Spec: corev1.PersistentVolumeSpec{Capacity: quantity, StorageClassName: class, PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: handle, VolumeAttributes: attributes}}},
		},
	}
}

// of adds the StorageClass to a claim.
func of(c discover.Claim, parameters map[string]string) discover.Claim {
	c.Class = &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: c.PV.Spec.StorageClassName, CreationTimestamp: at(0)},
		Provisioner: c.PV.Spec.CSI.Driver, Parameters: parameters}
	return c
}

// static turns the volume of a claim into one that was created by hand.
func static(c discover.Claim) discover.Claim {
	delete(c.PV.Annotations, "pv.kubernetes.io/provisioned-by")
	return c
}

func changed(c discover.Claim, class string, parameters map[string]string) discover.Claim {
	c.Claim.Status.CurrentVolumeAttributesClassName = &class
	if parameters != nil {
		c.Attributes = &storagev1.VolumeAttributesClass{ObjectMeta: metav1.ObjectMeta{Name: class}, DriverName: c.PV.Spec.CSI.Driver, Parameters: parameters}
	}
	return c
}

func mounted(kind, source, options string) []v1alpha1.Environment {
	return []v1alpha1.Environment{
		{Target: "other", Volumes: []v1alpha1.MountedVolume{{Name: "data", FileSystem: "xfs", Source: "/dev/other"}}},
		{Target: "share", Volumes: []v1alpha1.MountedVolume{{Name: "data", FileSystem: kind, Source: source, Options: options}}},
	}
}

func nodes(kind string, count int) []discover.Node {
	var all []discover.Node
	for range count {
		all = append(all, discover.Node{Name: "n", Labels: map[string]string{
			"node.kubernetes.io/instance-type": kind, "topology.kubernetes.io/region": "us-east-1"}})
	}
	return all
}

const bookkeeping = "storage.kubernetes.io/csiProvisionerIdentity"

// lustre returns a claim as aws-fsx-csi-driver provisions it: the attributes of the volume contain only its address.
func lustre() discover.Claim {
	return made("fsx.csi.aws.com", "fs-0abc", "fsx-sc", "14400Gi", map[string]string{
		"dnsname": "fs-0abc.fsx.us-east-1.amazonaws.com", "mountname": "xyz", bookkeeping: "1700-fsx.csi.aws.com"})
}

func lustreClass() map[string]string {
	return map[string]string{"subnetId": "subnet-1", "securityGroupIds": "sg-1", "deploymentType": "PERSISTENT_1", "perUnitStorageThroughput": "200", "dataCompressionType": "LZ4"}
}

// azure returns a claim as azuredisk-csi-driver provisions it: the attributes of the volume contain all parameters and
// the requested size.
func azure(size, sku, caching string) discover.Claim {
	c := made("disk.csi.azure.com", "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/pvc-1", "managed", size, map[string]string{
		"skuname": sku, "cachingMode": caching, "requestedsizegib": strings.TrimSuffix(size, "Gi"), "csi.storage.k8s.io/pv/name": "pvc-1",
		"csi.storage.k8s.io/pvc/name": "claim", "csi.storage.k8s.io/pvc/namespace": "storage", bookkeeping: "1-disk.csi.azure.com"})
	return of(c, map[string]string{"skuName": sku, "cachingMode": caching})
}

var cases = map[string]struct {
	claims  []discover.Claim
	nodes   []discover.Node
	mounts  []v1alpha1.Environment
	denied  map[string]string
	limits  *v1alpha1.Limits
	rows    string
	says    []string // expected parts of the record, in the format of describe
	missing []string
}{
	"FSx for Lustre, provisioned": {
		claims: []discover.Claim{of(lustre(), lustreClass())}, nodes: nodes("m5n.8xlarge", 4),
		mounts: mounted("lustre", "10.0.0.7@tcp:/xyz", "rw,relatime,flock,lazystatfs"),
		rows:   "aws-ec2/m5n.8xlarge aws-fsx-lustre/persistent-1-ssd-200",
		says: []string{"driver fsx.csi.aws.com", "handle fs-0abc", "class fsx-sc", "deploymentType=PERSISTENT_1", "size 15461882265600", "14.4 TiB x 200 MB/s/TiB = 2,880 MB/s",
			"server 10.0.0.7@tcp:/xyz", "fs lustre", "options flock,rw", "4 x m5n.8xlarge", "claim claim of pvc-1"},
		missing: []string{"the compression ratio"},
	},
	"FSx for Lustre, its class gone": {
		claims: []discover.Claim{lustre()}, nodes: nodes("m5n.8xlarge", 1),
		rows: "aws-ec2/m5n.8xlarge", says: []string{"class fsx-sc (gone)", "server fs-0abc.fsx.us-east-1.amazonaws.com@tcp:/xyz"}, missing: []string{"documented.preset: the deployment type of the FSx for Lustre volume is unknown"},
	},
	"FSx for Lustre, a class of the name was made anew": {
		claims: []discover.Claim{func() discover.Claim {
			c := of(lustre(), lustreClass())
			c.Class.CreationTimestamp = at(99)
			return c
		}()},
		says: []string{"class fsx-sc (gone)", "StorageClass fsx-sc is newer than PersistentVolume pvc-1"}, missing: []string{"documented.preset"},
	},
	"FSx for Lustre, written by hand": {
		claims: []discover.Claim{static(of(lustre(), lustreClass()))},
		says:   []string{"PersistentVolume pvc-1 was created manually"}, missing: []string{"documented.preset"},
	},
	"FSx for Windows behind SMB": {
		claims: []discover.Claim{static(made("smb.csi.k8s.io", "fs/share##", "", "5Ti", map[string]string{"source": "//amznfsx.example.com/share"}))},
		nodes:  nodes("c5n.9xlarge", 1),
		mounts: mounted("cifs", "//amznfsx.example.com/share", "rw,relatime,vers=3.1.1,cache=none,username=Admin,uid=0,noperm,max_channels=4,multichannel"),
		rows:   "aws-ec2/c5n.9xlarge aws-ec2/flow",
		says: []string{"driver smb.csi.k8s.io", "server //amznfsx.example.com/share", "fs cifs",
			"options cache=none,max_channels=4,multichannel,rw,vers=3.1.1"},
		missing: []string{"documented.preset: the server behind an SMB share cannot be discovered; set documented.preset, such as aws-fsx-windows/hdd-32"},
	},
	"FSx for Windows, named": {
		claims: []discover.Claim{static(made("smb.csi.k8s.io", "fs/share##", "", "5Ti", map[string]string{"source": "//fs/share"}))},
		mounts: mounted("cifs", "//fs/share", "rw,cache=none"), limits: &v1alpha1.Limits{Preset: "aws-fsx-windows/hdd-32"},
		rows: "aws-fsx-windows/server-32 aws-fsx-windows/volume-hdd", says: []string{"5 TiB x 12 MiB/s/TiB = 60 MiB/s"}, missing: []string{"the instance type of the client nodes"},
	},
	"a secret is left out": {
		claims: []discover.Claim{of(made("smb.csi.k8s.io", "a", "smb", "1Ti", map[string]string{"source": "//s/a", "secretName": "hidden", "nodeStageSecretNamespace": "hidden"}),
			map[string]string{"source": "//s/a", "csi.storage.k8s.io/node-stage-secret-name": "hidden", "csi.storage.k8s.io/node-stage-secret-namespace": "hidden"})},
		says: []string{"source=//s/a"}, missing: []string{"documented.preset"},
	},
	"four P30 disks of one machine": {
		claims: stripe(4, azure("1024Gi", "Premium_LRS", "None")), nodes: nodes("Standard_D32s_v3", 1),
		mounts: mounted("ext4", "/dev/sdc", "rw,relatime"), rows: "azure-vm/Standard_D32s_v3 azure-disk/p30",
		says: []string{"4 x data", "class managed", "cachingMode=None", "requestedsizegib=1024", "= 800 MB/s"},
	},
	"an Azure disk that was changed": {
		claims: []discover.Claim{changed(azure("512Gi", "PremiumV2_LRS", "None"), "gold", map[string]string{"DiskIOPSReadWrite": "5000", "DiskMBpsReadWrite": "300"})},
		rows:   "azure-disk/premium-v2", says: []string{"attributes class gold", "DiskIOPSReadWrite=5000", "300 MB/s"}, missing: []string{"the instance type"},
	},
	"a change that is not known any more": {
		claims: []discover.Claim{changed(azure("512Gi", "PremiumV2_LRS", "None"), "gold", nil)},
		says:   []string{"attributes class gold"}, missing: []string{"VolumeAttributesClass gold does not exist", "documented.preset"},
	},
	"an Azure disk of before CSI": {
		claims: []discover.Claim{func() discover.Claim {
			c, caching := azure("1024Gi", "Premium_LRS", "None"), corev1.AzureDataDiskCachingReadOnly
			c.PV.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{AzureDisk: &corev1.AzureDiskVolumeSource{
				DiskName: "d", DataDiskURI: "/subscriptions/s/d", CachingMode: &caching}}
			c.Class.Parameters = map[string]string{"storageaccounttype": "Premium_LRS", "kind": "Managed"}
			return c
		}()},
		rows: "azure-disk/p30", says: []string{"driver disk.csi.azure.com", "handle /subscriptions/s/d", "cachingMode is ReadOnly"},
	},
	"Azure Files over NFS": {
		claims: []discover.Claim{of(made("file.csi.azure.com", "rg#acct#share###storage", "azurefile", "100Gi", map[string]string{
			"skuName": "Premium_LRS", "protocol": "nfs", "server": "acct.file.core.windows.net", "secretnamespace": "storage"}), map[string]string{"skuName": "Premium_LRS", "protocol": "nfs"})},
		mounts: mounted("nfs4", "acct.file.core.windows.net:/acct/share", "rw,vers=4.1,rsize=1048576,hard,nconnect=4,sec=sys,clientaddr=10.0.0.1,addr=10.0.0.2"),
		rows:   "azure-files/ssd-v1", says: []string{"options hard,nconnect=4,rsize=1048576,rw,vers=4.1", "fs nfs4", "server acct.file.core.windows.net:/acct/share"},
	},
	"EBS gp2, whose burst is by its size": {
		claims: []discover.Claim{of(made("ebs.csi.aws.com", "vol-1", "gp2", "100Gi", map[string]string{bookkeeping: "1-ebs"}), map[string]string{"type": "gp2", "csi.storage.k8s.io/fstype": "ext4"})},
		nodes:  nodes("m5n.8xlarge", 1), rows: "aws-ec2/m5n.8xlarge aws-ebs/gp2", says: []string{"type=gp2", "handle vol-1", "= 300 IOPS"},
	},
	"EBS by the driver's defaults": {
		claims: []discover.Claim{of(made("ebs.csi.aws.com", "vol-1", "ebs", "100Gi", nil), nil)}, rows: "aws-ebs/gp3",
	},
	"an EBS disk a client": {
		claims: stripe(3, of(made("ebs.csi.aws.com", "vol-1", "ebs", "100Gi", nil), map[string]string{"type": "gp3"})), rows: "aws-ebs/gp3", says: []string{"3 x data", "9,000 IOPS"},
	},
	"EBS of before CSI": {
		claims: []discover.Claim{func() discover.Claim {
			c := of(made("ebs.csi.aws.com", "x", "gp2", "1000Gi", nil), map[string]string{"type": "gp2"})
			c.PV.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "aws://us-east-1a/vol-9"}}
			c.Class.Provisioner = "kubernetes.io/aws-ebs"
			return c
		}()}, rows: "aws-ebs/gp2", says: []string{"handle vol-9"},
	},
	"EFS": {
		claims: []discover.Claim{static(made("efs.csi.aws.com", "fs-1::fsap-2", "efs-sc", "5Gi", nil))}, mounts: mounted("nfs4", "127.0.0.1:/", "rw,vers=4.1"),
		says: []string{"handle fs-1::fsap-2"}, missing: []string{"documented.preset: the throughput mode and the stored size of an EFS file system"},
	},
	"FSx for OpenZFS": {
		claims: []discover.Claim{of(made("fsx.openzfs.csi.aws.com", "fs-2", "zfs", "64Gi", map[string]string{"ResourceType": "filesystem", "DNSName": "fs-2.fsx", "VolumePath": "/fsx"}),
			map[string]string{"ResourceType": `"filesystem"`, "ThroughputCapacity": `"512"`})},
		mounts: mounted("nfs4", "fs-2.fsx:/fsx", "rw,vers=4.2,nconnect=16"), rows: "aws-fsx-openzfs/512", says: []string{"options nconnect=16,rw,vers=4.2"},
	},
	"a folder of the node": {
		claims: []discover.Claim{func() discover.Claim {
			c := made("x", "x", "", "1Gi", nil)
			c.PV.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/mnt"}}
			return static(c)
		}()},
		says: []string{"driver hostPath"}, missing: []string{"documented.preset"},
	},
	"a local disk": {
		claims: []discover.Claim{func() discover.Claim {
			c := made("x", "x", "local", "1Gi", nil)
			c.PV.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/mnt/a"}}
			return static(c)
		}()},
		says: []string{"driver local"}, missing: []string{"documented.preset"},
	},
	"nobody may read volumes": {
		claims: []discover.Claim{func() discover.Claim {
			c := of(made("ebs.csi.aws.com", "vol-1", "gp2", "100Gi", nil), map[string]string{"type": "gp2"})
			c.PV = nil
			return c
		}()},
		denied: map[string]string{"persistentvolumes": "permission denied"}, rows: "aws-ebs/gp2",
		says: []string{"driver ebs.csi.aws.com", "size 107374182400"}, missing: []string{"permission to read persistentvolumes: the operator cannot read persistentvolumes"},
	},
	"nobody may read anything": {
		claims: []discover.Claim{func() discover.Claim {
			c := made("ebs.csi.aws.com", "vol-1", "gp2", "100Gi", nil)
			c.PV = nil
			return c
		}()}, nodes: []discover.Node{{Name: "a"}},
		denied:  map[string]string{"persistentvolumes": "x", "storageclasses": "x", "nodes": "x"},
		missing: []string{"permission to read nodes", "permission to read storageclasses", "documented.preset: the type of the EBS volume is unknown", "with the label node.kubernetes.io/instance-type"},
		says:    []string{"class gp2 ", "1 x (no type)"},
	},
	"a node without a type among others": {
		claims:  []discover.Claim{of(made("ebs.csi.aws.com", "vol-1", "gp3", "100Gi", nil), nil)},
		nodes:   append(nodes("m5n.8xlarge", 2), discover.Node{Name: "b", Labels: map[string]string{}}),
		missing: []string{"1 of 3 nodes have no label node.kubernetes.io/instance-type"}, says: []string{"2 x m5n.8xlarge", "1 x (no type)"}, rows: "aws-ebs/gp3",
	},
}

// stripe returns the given number of volumes that differ only in names and handles.
func stripe(count int, c discover.Claim) []discover.Claim {
	var all []discover.Claim
	for i := range count {
		one := c
		one.Claim, one.PV = c.Claim.DeepCopy(), c.PV.DeepCopy()
		suffix := string(rune('a' + i))
		one.Claim.Name, one.PV.Name, one.PV.Spec.CSI.VolumeHandle = "claim-"+suffix, "pvc-"+suffix, "handle-"+suffix
		if attributes := one.PV.Spec.CSI.VolumeAttributes; attributes["csi.storage.k8s.io/pv/name"] != "" {
			attributes["csi.storage.k8s.io/pv/name"], attributes["csi.storage.k8s.io/pvc/name"] = one.PV.Name, one.Claim.Name
		}
		all = append(all, one)
	}
	return all
}

// TestDescribe checks which storage and which limits a run records for the objects that common drivers create.
func TestDescribe(t *testing.T) {
	catalog, err := limits.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			found := discover.Describe(discover.Target{Name: "share", Claims: c.claims, Nodes: c.nodes, Environments: c.mounts, Denied: c.denied})
			record, err := catalog.Describe(&v1alpha1.Target{Name: "share", Documented: c.limits}, found.Description)
			if err != nil {
				t.Fatal(err)
			}
			found.Complete(&record)
			var rows []string
			for _, limit := range record.Limits {
				if !slices.Contains(rows, limit.Row) {
					rows = append(rows, limit.Row)
				}
			}
			if got := strings.Join(rows, " "); got != c.rows {
				t.Errorf("limits of %q, want %q; missing %+v", got, c.rows, record.Missing)
			}
			text := describe(record)
			for _, part := range c.says {
				if !strings.Contains(text, part) {
					t.Errorf("%q is not in\n%s", part, text)
				}
			}
			missing := ""
			for _, one := range record.Missing {
				missing += one.Field + ": " + one.Message + "\n"
			}
			for _, part := range c.missing {
				if !strings.Contains(missing, part) {
					t.Errorf("%q is not missing:\n%s", part, missing)
				}
			}
			if strings.Contains(text, "hidden") || strings.Contains(text, "Admin") || strings.Contains(text, bookkeeping) {
				t.Errorf("the record contains data that must not be recorded: %s", text)
			}
		})
	}
}

// describe returns a record as text.
func describe(record v1alpha1.StorageDescription) string {
	var text strings.Builder
	say := func(words ...string) { text.WriteString(strings.Join(words, " ") + " \n") }
	for _, v := range record.Volumes {
		gone := ""
		if v.StorageClassGone {
			gone = "(gone)"
		}
		say(resource.NewQuantity(int64(v.Count), resource.DecimalSI).String(), "x", v.Name)
		say("claim", v.ClaimName, "of", v.VolumeName)
		say("driver", v.Driver)
		say("handle", v.VolumeHandle)
		say("class", v.StorageClass, gone)
		say("attributes class", v.VolumeAttributesClass)
		for _, key := range slices.Sorted(maps.Keys(v.Parameters)) {
			say(key + "=" + v.Parameters[key])
		}
		size := resource.NewQuantity(v.SizeBytes, resource.DecimalSI).AsDec().String()
		say("size", size)
		say("fs", v.FileSystem)
		say("server", v.Server)
		say("options", strings.Join(v.MountOptions, ","))
	}
	for _, m := range record.Machines {
		kind := m.InstanceType
		if kind == "" {
			kind = "(no type)"
		}
		say(string(rune('0'+m.Nodes)), "x", kind)
	}
	for _, l := range record.Limits {
		say(l.Name, l.Arithmetic, l.BurstArithmetic)
	}
	for _, note := range record.Notes {
		say(note)
	}
	return text.String()
}
