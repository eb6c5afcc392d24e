package objects

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// ofRun selects all pods of a run, across all targets.
func ofRun(run *v1alpha1.BenchmarkRun) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.LabelRun: labelValue(run.Name)}}
}

// affinity returns the user's affinity. If each client must have, or should have, a node of its own, affinity adds a
// pod anti-affinity.
func affinity(run *v1alpha1.BenchmarkRun, on Storage) *corev1.Affinity {
	all := template(run).Affinity.DeepCopy()
	clients := &run.Spec.Run.Clients
	preferred := clients.Spread == v1alpha1.SpreadPreferOnePerNode && len(on.SameNodeTargets) == 0
	if !clients.OnePerNode() && !preferred {
		return all
	}
	if all == nil {
		all = &corev1.Affinity{}
	}
	if all.PodAntiAffinity == nil {
		all.PodAntiAffinity = &corev1.PodAntiAffinity{}
	}
	term := corev1.PodAffinityTerm{LabelSelector: ofRun(run), TopologyKey: corev1.LabelHostname}
	if anti := all.PodAntiAffinity; preferred {
		anti.PreferredDuringSchedulingIgnoredDuringExecution = append(
			anti.PreferredDuringSchedulingIgnoredDuringExecution, corev1.WeightedPodAffinityTerm{Weight: 100, PodAffinityTerm: term})
	} else {
		anti.RequiredDuringSchedulingIgnoredDuringExecution = append(anti.RequiredDuringSchedulingIgnoredDuringExecution, term)
	}
	return all
}

// topologySpread returns the user's constraints. If clients may share nodes, it adds a constraint that spreads them
// evenly if possible.
func topologySpread(run *v1alpha1.BenchmarkRun, on Storage) []corev1.TopologySpreadConstraint {
	all := append([]corev1.TopologySpreadConstraint(nil), template(run).TopologySpreadConstraints...)
	for _, constraint := range all {
		// Do not add a constraint, because the API server rejects two constraints with the same topology key and
		// whenUnsatisfiable.
		if constraint.TopologyKey == corev1.LabelHostname && constraint.WhenUnsatisfiable == corev1.ScheduleAnyway {
			return all
		}
	}
	if run.Spec.Run.Clients.OnePerNode() || len(on.SameNodeTargets) > 0 {
		return all
	}
	return append(all, corev1.TopologySpreadConstraint{
		MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: ofRun(run),
	})
}
