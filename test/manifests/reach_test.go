package manifests

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/config/render"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/test/builders"
)

// These tests evaluate the NetworkPolicies as their specification defines: who may connect to which port of which pod.
// They do not check that packets are dropped, because that is up to the network plugin, and the cluster of test/cluster
// has none that enforces policies (docs/limits.md).

// endpoint is a pod as a policy sees it.
type endpoint struct {
	namespace string
	labels    map[string]string
	ports     []corev1.ContainerPort
	// outside is true for an address that belongs to no pod.
	outside bool
}

// reaches reports whether the policies allow a connection to a port. Policies add up, and a pod that no policy selects
// is open to all.
func reaches(t *testing.T, policies []networkingv1.NetworkPolicy, from, to endpoint, protocol corev1.Protocol, port int32) bool {
	t.Helper()
	selected := false
	for _, policy := range policies {
		if !slices.Contains(policy.Spec.PolicyTypes, networkingv1.PolicyTypeIngress) {
			t.Fatalf("policy %s: this reader knows ingress alone", policy.Name)
		}
		if slices.Contains(policy.Spec.PolicyTypes, networkingv1.PolicyTypeEgress) {
			t.Fatalf("policy %s limits what leaves its pods, which this reader does not know", policy.Name)
		}
		if policy.Namespace != to.namespace || !selects(t, &policy.Spec.PodSelector, to.labels) {
			continue
		}
		selected = true
		for _, rule := range policy.Spec.Ingress {
			if opens(rule.Ports, to, protocol, port) && (len(rule.From) == 0 || slices.ContainsFunc(rule.From, func(peer networkingv1.NetworkPolicyPeer) bool {
				return admits(t, peer, policy.Namespace, from)
			})) {
				return true
			}
		}
	}
	return !selected
}

func selects(t *testing.T, selector *metav1.LabelSelector, of map[string]string) bool {
	t.Helper()
	compiled, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return compiled.Matches(labels.Set(of))
}

// opens reports whether a rule applies to a port. A rule without ports applies to all.
func opens(ports []networkingv1.NetworkPolicyPort, to endpoint, protocol corev1.Protocol, port int32) bool {
	return len(ports) == 0 || slices.ContainsFunc(ports, func(one networkingv1.NetworkPolicyPort) bool {
		switch {
		case one.Protocol != nil && *one.Protocol != protocol, one.Protocol == nil && protocol != corev1.ProtocolTCP:
			return false
		case one.Port == nil:
			return true
		case one.Port.Type == intstr.String:
			return slices.ContainsFunc(to.ports, func(named corev1.ContainerPort) bool {
				return named.Name == one.Port.StrVal && named.ContainerPort == port
			})
		case one.EndPort != nil:
			return port >= one.Port.IntVal && port <= *one.EndPort
		}
		return one.Port.IntVal == port
	})
}

// admits reports whether a peer of a rule matches the source. A peer without a namespace selector is in the policy's
// own namespace.
func admits(t *testing.T, peer networkingv1.NetworkPolicyPeer, own string, from endpoint) bool {
	t.Helper()
	if peer.IPBlock != nil {
		t.Fatal("a rule names addresses, which this reader does not know")
	}
	if from.outside {
		return false
	}
	if peer.NamespaceSelector == nil && from.namespace != own {
		return false
	}
	if peer.NamespaceSelector != nil && !selects(t, peer.NamespaceSelector, map[string]string{corev1.LabelMetadataName: from.namespace}) {
		return false
	}
	return peer.PodSelector == nil || selects(t, peer.PodSelector, from.labels)
}

// TestWhoReachesTheClientsOfARun checks that only the operator and the run's other clients reach a client, and only at
// the agent's port. With MPI, the other clients reach all of its TCP ports.
func TestWhoReachesTheClientsOfARun(t *testing.T) {
	settings := objects.Settings{AgentImage: "a", FioImage: "f", IORImage: "i", OperatorNamespace: namespace}
	pod := deployment(t).Spec.Template
	operator := endpoint{namespace: namespace, labels: pod.Labels}
	run := func(name string, mpi bool) *v1alpha1.BenchmarkRun {
		benchmark := builders.Benchmark("bench").Target("data").Clients(2)
		if mpi {
			benchmark = benchmark.Load(builders.IOR().Engine())
		}
		made := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: "users", Name: name}}
		made.Spec.BenchmarkRef.Name = "bench"
		made.Spec.Run = *benchmark.Steady("write", "1m").Run()
		return made
	}
	client := func(of *v1alpha1.BenchmarkRun, index int) endpoint {
		made := objects.Pod(settings, of, objects.Client{Target: "data", Index: index, Attempt: 1}, objects.Storage{})
		return endpoint{namespace: made.Namespace, labels: made.Labels, ports: made.Spec.Containers[0].Ports}
	}
	with := func(of endpoint, in string) endpoint { of.namespace = in; return of }
	for _, mpi := range []bool{false, true} {
		one, two := run("bench-1", mpi), run("bench-2", mpi)
		if one.Spec.Run.UsesMPI() != mpi {
			t.Fatalf("mpi is %t", !mpi)
		}
		policies := []networkingv1.NetworkPolicy{*objects.NetworkPolicy(settings, one), *objects.NetworkPolicy(settings, two)}
		for _, test := range []struct {
			who      string
			from     endpoint
			protocol corev1.Protocol
			port     int32
			want     bool
		}{
			{"the operator at the agent", operator, corev1.ProtocolTCP, objects.AgentPort, true},
			{"the operator elsewhere", operator, corev1.ProtocolTCP, 22, false},
			{"the operator by UDP", operator, corev1.ProtocolUDP, objects.AgentPort, false},
			{"another pod of the operator's namespace", endpoint{namespace: namespace}, corev1.ProtocolTCP, objects.AgentPort, false},
			{"a pod with the operator's labels in the run's namespace", with(operator, "users"), corev1.ProtocolTCP, objects.AgentPort, false},
			{"a pod with the operator's labels in some namespace", with(operator, "others"), corev1.ProtocolTCP, objects.AgentPort, false},
			{"a client of the same run at the agent", client(one, 1), corev1.ProtocolTCP, objects.AgentPort, true},
			{"a client of the same run at a port of MPI", client(one, 1), corev1.ProtocolTCP, 45678, mpi},
			{"a client of the same run by UDP", client(one, 1), corev1.ProtocolUDP, 45678, false},
			{"a client of another run of the benchmark", client(two, 1), corev1.ProtocolTCP, objects.AgentPort, false},
			{"a client of a run of that name elsewhere", with(client(one, 1), "others"), corev1.ProtocolTCP, objects.AgentPort, false},
			{"some pod of the namespace", endpoint{namespace: "users"}, corev1.ProtocolTCP, objects.AgentPort, false},
			{"an address outside", endpoint{outside: true}, corev1.ProtocolTCP, objects.AgentPort, false},
		} {
			if got := reaches(t, policies, test.from, client(one, 0), test.protocol, test.port); got != test.want {
				t.Errorf("MPI %t: %s gets through: %t, want %t", mpi, test.who, got, test.want)
			}
		}
		if !reaches(t, policies, endpoint{outside: true}, endpoint{namespace: "users"}, corev1.ProtocolTCP, 80) {
			t.Error("the policies of runs restrict pods of no run")
		}
	}
}

// TestWhoReachesTheOperator checks that everything reaches the operator's port for probes, because no policy can name
// the kubelet, and no other port. With config/metrics, everything reaches the metrics port, too, which requires
// authentication.
func TestWhoReachesTheOperator(t *testing.T) {
	for of, open := range map[string][]int32{render.Default: {8081}, render.Metrics: {8081, 8443}} {
		installed := folder(t, of)
		var policies []networkingv1.NetworkPolicy
		for name, object := range installed {
			if object.GetKind() == "NetworkPolicy" {
				policies = append(policies, read[networkingv1.NetworkPolicy](t, installed, name))
			}
		}
		pod := read[appsv1.Deployment](t, installed, "Deployment "+operatorDeployment).Spec.Template
		operator := endpoint{namespace: namespace, labels: pod.Labels, ports: pod.Spec.Containers[0].Ports}
		for _, from := range []endpoint{{namespace: namespace}, {namespace: "users"}, {outside: true}} {
			for _, port := range []int32{22, 8080, 8081, 8443, 9443} {
				if got := reaches(t, policies, from, operator, corev1.ProtocolTCP, port); got != slices.Contains(open, port) {
					t.Errorf("%s: %+v at port %d of the operator: %t", of, from, port, got)
				}
			}
		}
	}
}
