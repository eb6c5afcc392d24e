package objects_test

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/test/builders"
)

var settings = objects.Settings{
	AgentImage: "storagebench.dev/operator:test", FioImage: "storagebench.dev/fio:test", IORImage: "storagebench.dev/ior:test", OperatorNamespace: "storagebench-system",
}

// runOf returns the run of a benchmark.
func runOf(b *builders.BenchmarkBuilder) *v1alpha1.BenchmarkRun {
	benchmark := b.Obj()
	return &v1alpha1.BenchmarkRun{
		ObjectMeta: metav1.ObjectMeta{Name: benchmark.Name + "-0a1b2c3d", Namespace: "storage", UID: "run-uid"},
		Spec: v1alpha1.BenchmarkRunSpec{
			BenchmarkRef: v1alpha1.BenchmarkReference{Name: benchmark.Name, UID: "benchmark-uid"},
			Run:          benchmark.Spec.Run,
		},
	}
}

// made sets a claim template.
func made(scope v1alpha1.ClaimScope, lifetime v1alpha1.ClaimLifetime) func(*v1alpha1.RunSpec) {
	class := "fast"
	return func(r *v1alpha1.RunSpec) {
		r.Targets[len(r.Targets)-1].Volumes[0] = v1alpha1.Volume{Name: "data", ClaimTemplate: &v1alpha1.ClaimTemplate{
			Scope: scope, Lifetime: lifetime, Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				StorageClassName: &class,
				Resources: corev1.VolumeResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}},
			}}}
	}
}

func templated(template v1alpha1.PodTemplate) func(*v1alpha1.RunSpec) {
	return func(r *v1alpha1.RunSpec) { r.Clients.Template = &template }
}

// everything returns a template with all fields set, some of them to values that would override what this package sets.
func everything() v1alpha1.PodTemplate {
	always, user, group, files := corev1.FSGroupChangeAlways, int64(1000), int64(2000), int64(3000)
	return v1alpha1.PodTemplate{
		Labels: map[string]string{
			"team": "storage", v1alpha1.LabelRun: "other", "sidecar.istio.io/inject": "true",
		},
		Annotations: map[string]string{"note": "mine", "karpenter.sh/do-not-disrupt": "false"},
		Resources: &v1alpha1.ClientResources{
			Requests: corev1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("1Gi"), "vendor.com/nic": resource.MustParse("1")},
			Limits:   corev1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("1Gi"), "vendor.com/nic": resource.MustParse("1")},
		},
		NodeSelector: map[string]string{"pool": "bench", "kubernetes.io/os": "windows"},
		Affinity: &corev1.Affinity{
			NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: "disk", Operator: corev1.NodeSelectorOpIn, Values: []string{"nvme"}}}}}}},
			PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
				{TopologyKey: "kubernetes.io/hostname", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "noisy"}}}}},
		},
		Tolerations: []corev1.Toleration{{Key: "bench", Operator: corev1.TolerationOpExists}},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{
			{MaxSkew: 1, TopologyKey: "topology.kubernetes.io/zone", WhenUnsatisfiable: corev1.DoNotSchedule}},
		PriorityClassName: "high",
		ImagePullSecrets:  []corev1.LocalObjectReference{{Name: "registry"}},
		SecurityContext: &v1alpha1.ClientSecurityContext{
			RunAsUser: &user, RunAsGroup: &group, FSGroup: &files, FSGroupChangePolicy: &always,
			SupplementalGroups: []int64{4000}, SELinuxOptions: &corev1.SELinuxOptions{Level: "s0:c1,c2"},
		},
	}
}

func usual() *builders.BenchmarkBuilder {
	return builders.Benchmark("quickstart").Target("data").Clients(2).Prepare("layout").Steady("write", "1m")
}
