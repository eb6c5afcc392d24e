package objects

import (
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Storage describes the properties of a client's volumes that affect its pod. The zero value describes file systems
// that any node can mount.
type Storage struct {
	// Devices lists the names of the volumes that are raw devices.
	Devices []string
	// Provisioned lists the names of the volumes that are created for the run or were created for its benchmark, and
	// therefore do not hold other users' files.
	Provisioned []string
	// ReadOnly lists the names of the volumes that must not be written to.
	ReadOnly []string
	// SameNodeTargets lists the targets whose clients must all run on one node, because they share a volume that can be
	// used on only one node at a time. If it is empty, the clients may run on any node.
	SameNodeTargets []string
	// Node is the name of the node that already uses a single-node volume of the client's target, or "" if there is no
	// such node.
	Node string
}

const (
	deviceDirectory = "/dev/storagebench"
	// diskGroup is the ID of the group that owns disk devices on all common Linux distributions. A pod that uses
	// devices needs this group, because device files in a pod have the same owner as on its node, and the pod's user is
	// not root.
	diskGroup = 6
)

// DevicePath returns the path at which a client finds a raw device of its target.
func DevicePath(volume string) string { return path.Join(deviceDirectory, volume) }

func (s Storage) device(volume string) bool { return slices.Contains(s.Devices, volume) }

func (s Storage) readOnly(volume string) bool { return slices.Contains(s.ReadOnly, volume) }

// onOneNode extends the affinity to run the pod on the same node as the other clients that share a volume with it. If a
// node already uses such a volume, the pod runs on that node. Otherwise, the first client may run on any node, because
// the scheduler ignores a pod affinity that no pod matches except the new pod itself.
func (s Storage) onOneNode(run *v1alpha1.BenchmarkRun, affinity *corev1.Affinity) *corev1.Affinity {
	if len(s.SameNodeTargets) == 0 && s.Node == "" {
		return affinity
	}
	if affinity == nil {
		affinity = &corev1.Affinity{}
	}
	if s.Node != "" {
		onNode(affinity, s.Node)
	}
	if len(s.SameNodeTargets) == 0 {
		return affinity
	}
	if affinity.PodAffinity == nil {
		affinity.PodAffinity = &corev1.PodAffinity{}
	}
	var targets []string
	for _, target := range s.SameNodeTargets {
		targets = append(targets, labelValue(target))
	}
	selector := ofRun(run)
	selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: v1alpha1.LabelTarget, Operator: metav1.LabelSelectorOpIn, Values: targets}}
	affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = append(
		affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution,
		corev1.PodAffinityTerm{LabelSelector: selector, TopologyKey: corev1.LabelHostname})
	return affinity
}

// onNode extends the affinity to run the pod on the given node. It adds the requirement to each term of the node
// selector, because the terms are alternatives.
func onNode(affinity *corev1.Affinity, node string) {
	is := corev1.NodeSelectorRequirement{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}
	if affinity.NodeAffinity == nil {
		affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	required := affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if required == nil || len(required.NodeSelectorTerms) == 0 {
		required = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{}}}
		affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = required
	}
	for i := range required.NodeSelectorTerms {
		required.NodeSelectorTerms[i].MatchFields = append(required.NodeSelectorTerms[i].MatchFields, is)
	}
}
