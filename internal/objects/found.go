package objects

import (
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Storage is what was found of the claims of a client's target, and its pod depends on. The zero value is that of
// file systems which any node may mount.
type Storage struct {
	// Devices are the volumes, by name, that are raw devices.
	Devices []string
	// ReadOnly are those that nothing may be written to.
	ReadOnly []string
	// Together are the targets whose clients have to be on one node, because they share a volume that one node at a
	// time can have. Empty: they may be on any.
	Together []string
	// Node is where such a volume is in use already; empty where it is nowhere.
	Node string
}

const (
	deviceDirectory = "/dev/storagebench"
	// diskGroup is the group that owns the files of disks on every common Linux. A pod's files of devices are as
	// those of its node, and its user is not root.
	diskGroup = 6
)

// DevicePath is where a client finds a volume of its target that is a raw device.
func DevicePath(volume string) string { return path.Join(deviceDirectory, volume) }

func (s Storage) device(volume string) bool { return slices.Contains(s.Devices, volume) }

func (s Storage) readOnly(volume string) bool { return slices.Contains(s.ReadOnly, volume) }

// onOneNode asks for the node of the others that share a volume, and for that where it is. The first of them is free
// to choose: the scheduler lets a pod pass that nothing but itself could satisfy.
func (s Storage) onOneNode(run *v1alpha1.BenchmarkRun, affinity *corev1.Affinity) *corev1.Affinity {
	if len(s.Together) == 0 && s.Node == "" {
		return affinity
	}
	if affinity == nil {
		affinity = &corev1.Affinity{}
	}
	if s.Node != "" {
		onNode(affinity, s.Node)
	}
	if len(s.Together) == 0 {
		return affinity
	}
	if affinity.PodAffinity == nil {
		affinity.PodAffinity = &corev1.PodAffinity{}
	}
	var targets []string
	for _, target := range s.Together {
		targets = append(targets, labelValue(target))
	}
	selector := ofRun(run)
	selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: v1alpha1.LabelTarget, Operator: metav1.LabelSelectorOpIn, Values: targets}}
	affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = append(
		affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution,
		corev1.PodAffinityTerm{LabelSelector: selector, TopologyKey: corev1.LabelHostname})
	return affinity
}

// onNode asks for one node. Terms of a selector are alternatives, so it goes into each.
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
