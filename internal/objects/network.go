package objects

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// operatorLabels returns the labels of the operator's pods.
func operatorLabels() map[string]string {
	return map[string]string{
		"app.kubernetes.io/name":      "storagebench",
		"app.kubernetes.io/component": "operator",
	}
}

// NetworkPolicy returns the policy that lets only the operator and the clients of the same run reach the agents of a
// run. mTLS decides who may command the agents; the policy also prevents other connections. It does not restrict the
// connections that clients open, because a program under test may need the network. Most storage is mounted by the
// node, whose traffic no policy restricts anyway. Policies do not apply to pods on the node's network.
//
// Open MPI uses arbitrary ports between the ranks of a run. If a workload needs Open MPI, the clients may therefore
// reach all of each other's TCP ports.
func NetworkPolicy(s Settings, run *v1alpha1.BenchmarkRun) *networkingv1.NetworkPolicy {
	tcp, first := corev1.ProtocolTCP, intstr.FromInt32(AgentPort)
	policy := &networkingv1.NetworkPolicy{
		TypeMeta: metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: metav1.ObjectMeta{
			Name: NetworkPolicyName(run), Namespace: run.Namespace,
			Labels:          RunLabels(run),
			OwnerReferences: ownedByRun(run),
		},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: *ofRun(run),
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{{
				Ports: []networkingv1.NetworkPolicyPort{{Protocol: &tcp, Port: &first}},
				From: []networkingv1.NetworkPolicyPeer{
					{
						NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: s.OperatorNamespace}},
						PodSelector:       &metav1.LabelSelector{MatchLabels: operatorLabels()},
					},
					{PodSelector: ofRun(run)},
				},
			}},
		},
	}
	if run.Spec.Run.UsesMPI() {
		policy.Spec.Ingress = append(policy.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{
			Ports: []networkingv1.NetworkPolicyPort{{Protocol: &tcp}},
			From:  []networkingv1.NetworkPolicyPeer{{PodSelector: ofRun(run)}},
		})
	}
	return policy
}
