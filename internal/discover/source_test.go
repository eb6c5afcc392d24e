package discover_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/discover"
)

func csi(name, driver, handle string, attributes map[string]string) *corev1.PersistentVolume {
	return volume(name, corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: handle, VolumeAttributes: attributes}})
}

func volume(name string, from corev1.PersistentVolumeSource) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: from}}
}

// TestSame checks that two PersistentVolumes of the same storage are recognized, and that similar ones of different
// storage are not confused.
func TestSame(t *testing.T) {
	folder := corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/mnt"}}
	export := corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "s", Path: "/a"}}
	iscsi := func(lun int32) corev1.PersistentVolumeSource {
		return corev1.PersistentVolumeSource{ISCSI: &corev1.ISCSIPersistentVolumeSource{TargetPortal: "10.0.0.1:3260", IQN: "iqn.x", Lun: lun}}
	}
	fc := func(lun int32) corev1.PersistentVolumeSource {
		return corev1.PersistentVolumeSource{FC: &corev1.FCVolumeSource{TargetWWNs: []string{"w"}, Lun: &lun}}
	}
	azure := func(account string) corev1.PersistentVolumeSource {
		return corev1.PersistentVolumeSource{AzureFile: &corev1.AzureFilePersistentVolumeSource{SecretName: account, ShareName: "bench"}}
	}
	for name, c := range map[string]struct {
		a, b *corev1.PersistentVolume
		want bool
	}{
		"itself":                     {csi("a", "ebs.csi.aws.com", "vol-1", nil), csi("a", "ebs.csi.aws.com", "vol-1", nil), true},
		"a handle twice":             {csi("a", "efs.csi.aws.com", "fs-1", nil), csi("b", "efs.csi.aws.com", "fs-1", nil), true},
		"two access points":          {csi("a", "efs.csi.aws.com", "fs-1::fsap-1", nil), csi("b", "efs.csi.aws.com", "fs-1::fsap-2", nil), false},
		"a handle of another driver": {csi("a", "ebs.csi.aws.com", "x", nil), csi("b", "disk.csi.azure.com", "x", nil), false},
		"a share by two handles":     {csi("a", "smb.csi.k8s.io", "one", map[string]string{"source": "//FS/share"}), csi("b", "smb.csi.k8s.io", "two", map[string]string{"source": "//fs/share/"}), true},
		"two folders of a share":     {csi("a", "smb.csi.k8s.io", "one", map[string]string{"source": "//fs/share", "subDir": "a"}), csi("b", "smb.csi.k8s.io", "two", map[string]string{"source": "//fs/share", "subDir": "b"}), false},
		"two folders that the driver made": {
			csi("a", "smb.csi.k8s.io", "one", map[string]string{"source": "//fs/share", "subdir": "pvc-1"}),
			csi("b", "smb.csi.k8s.io", "two", map[string]string{"source": "//fs/share", "subdir": "pvc-2"}), false},
		"an export by two handles": {
			csi("a", "nfs.csi.k8s.io", "one", map[string]string{"server": "s", "share": "/a"}),
			csi("b", "nfs.csi.k8s.io", "two", map[string]string{"server": "s", "share": "/a/"}), true},
		"an export, with and without CSI": {csi("a", "nfs.csi.k8s.io", "one", map[string]string{"server": "s", "share": "/a"}), volume("b", export), true},
		"two folders of an export": {
			csi("a", "nfs.csi.k8s.io", "one", map[string]string{"server": "s", "share": "/a", "subdir": "x"}),
			csi("b", "nfs.csi.k8s.io", "two", map[string]string{"server": "s", "share": "/a", "subdir": "y"}), false},
		"two LUNs of an iSCSI target":  {volume("a", iscsi(0)), volume("b", iscsi(1)), false},
		"a LUN of an iSCSI target":     {volume("a", iscsi(1)), volume("b", iscsi(1)), true},
		"two LUNs of an FC target":     {volume("a", fc(0)), volume("b", fc(1)), false},
		"a LUN of an FC target":        {volume("a", fc(1)), volume("b", fc(1)), true},
		"a share of two accounts":      {volume("a", azure("premium")), volume("b", azure("standard")), false},
		"a share of an account":        {volume("a", azure("premium")), volume("b", azure("premium")), true},
		"Lustre by two handles":        {csi("a", "fsx.csi.aws.com", "fs-1", map[string]string{"dnsname": "d", "mountname": "m"}), csi("b", "fsx.csi.aws.com", "mine", map[string]string{"dnsname": "d", "mountname": "m"}), true},
		"folders of two nodes, alike":  {volume("a", folder), volume("b", folder), false},
		"an export twice":              {volume("a", export), volume("b", export), true},
		"a disk of before CSI, of now": {volume("a", corev1.PersistentVolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "aws://us-east-1a/vol-1"}}), csi("b", "ebs.csi.aws.com", "vol-1", nil), true},
	} {
		if got := discover.Same(c.a, c.b); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

func TestMountedReadOnly(t *testing.T) {
	readOnly := csi("a", "d", "h", nil)
	readOnly.Spec.CSI.ReadOnly = true
	option := csi("b", "d", "h", nil)
	option.Spec.MountOptions = []string{"noatime,ro"}
	rounded := csi("c", "d", "h", nil)
	rounded.Spec.MountOptions = []string{"errors=remount-ro", "noatime"}
	for want, v := range map[string]*corev1.PersistentVolume{"readOnly is true in PersistentVolume a": readOnly, "PersistentVolume b has the mount option ro": option} {
		if got := discover.MountedReadOnly(v); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := discover.MountedReadOnly(rounded); got != "" {
		t.Error(got)
	}
	if got := discover.MountedReadOnly(nil); got != "" {
		t.Error(got)
	}
}

// TestRegion checks that the region of the volume takes precedence over that of the nodes, and that nodes in different
// regions determine none.
func TestRegion(t *testing.T) {
	here := corev1.NodeSelectorRequirement{Key: "topology.kubernetes.io/region", Operator: corev1.NodeSelectorOpIn, Values: []string{"eu-west-2"}}
	one := lustre()
	one.PV.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{here}}}}}
	far := discover.Node{Name: "b", Labels: map[string]string{"topology.kubernetes.io/region": "af-south-1"}}
	for want, target := range map[string]discover.Target{
		"eu-west-2": {Claims: []discover.Claim{one}, Nodes: nodes("x", 1)},
		"us-east-1": {Claims: []discover.Claim{lustre()}, Nodes: nodes("x", 2)},
		"":          {Claims: []discover.Claim{lustre()}, Nodes: append(nodes("x", 1), far)},
	} {
		if got := discover.Describe(target).Description.Region; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestOneVolumeUnderTwoNames checks that two claims of the same storage count as one volume, so that its limits are not
// added up.
func TestOneVolumeUnderTwoNames(t *testing.T) {
	first, second := of(lustre(), lustreClass()), of(lustre(), lustreClass())
	second.Volume = "other"
	if got := discover.Describe(discover.Target{Claims: []discover.Claim{first, second}}).Description.Volumes; len(got) != 1 || got[0].Count != 1 {
		t.Errorf("%+v", got)
	}
}

// TestMountsDiffer checks that a note reports clients with different mount options.
func TestMountsDiffer(t *testing.T) {
	all := append(mounted("nfs4", "s:/a", "rw,nconnect=4"), mounted("nfs4", "s:/a", "rw")...)
	var record v1alpha1.StorageDescription
	discover.Describe(discover.Target{Name: "share", Claims: []discover.Claim{lustre()}, Environments: all}).Complete(&record)
	if len(record.Notes) == 0 || !strings.Contains(strings.Join(record.Notes, "\n"), "mount volume data with different options") {
		t.Errorf("%q", record.Notes)
	}
}
