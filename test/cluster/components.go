package cluster

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/storagebench/storagebench/test/binaries"
	"github.com/storagebench/storagebench/test/cluster/node"
)

// statusFile is the file, below its /var, in which the node reports its status.
const statusFile = "lib/storagebench/status.json"

// sysctls holds the kernel settings that the kubelet requires.
var sysctls = map[string]string{
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/keys/root_maxbytes": "25000000",
}

// spec returns the specification of the node.
func (m Member) spec(n network, programs map[string]string) node.Spec {
	// Service addresses exist only in the rules of kube-proxy, but a packet that a process of the node itself sends needs
	// a route before it reaches the rules.
	route := []string{"ip", "route", "add", n.services().String(), "dev", nodeLink}
	if m.place > 0 {
		route = []string{"ip", "route", "add", n.All.String(), "via", n.gateway(m.place).String()}
	}
	return node.Spec{
		Hostname: m.Name(),
		Var:      m.folder(),
		Folders:  map[string]string{nodeShared: m.state.sharedFolder()},
		Programs: programs,
		Sysctls:  sysctls,
		Network: [][]string{
			{"ip", "link", "set", "lo", "up"},
			{"ip", "address", "add", n.node(m.place).String() + "/30", "dev", nodeLink},
			{"ip", "link", "set", nodeLink, "up"},
			route,
		},
		Components: m.components(n),
		LogFolder:  nodeLogs,
		StatusFile: statusFile,
	}
}

// components returns the programs of a node in start order.
func (m Member) components(n network) []node.Component {
	if m.place > 0 {
		return m.nodeComponents(n)
	}
	return slices.Concat(controlPlane(n), m.nodeComponents(n, binaries.APIServer), []node.Component{{
		Name:    binaries.CoreDNS,
		Command: []string{binaries.CoreDNS, "-conf", nodeConfigs + "/Corefile"},
		After:   []string{binaries.APIServer},
		Ready:   node.Probe{URL: "http://127.0.0.1:8181/ready"},
	}})
}

// controlPlane returns the programs of the control plane, which run on the first node.
func controlPlane(n network) []node.Component {
	afterAPIServer := []string{binaries.APIServer}
	return []node.Component{
		{Name: binaries.Etcd, Command: etcdCommand(), Ready: node.Probe{URL: "http://127.0.0.1:2381/readyz"}},
		{
			Name:    binaries.APIServer,
			Command: apiServerCommand(n),
			After:   []string{binaries.Etcd},
			Ready:   node.Probe{URL: "https://127.0.0.1:6443/readyz"},
		},
		{
			Name:    binaries.ControllerManager,
			Command: controllerManagerCommand(n),
			After:   afterAPIServer,
			Ready:   node.Probe{URL: "https://127.0.0.1:10257/healthz"},
		},
		{
			Name: binaries.Scheduler,
			Command: []string{
				binaries.Scheduler, "--bind-address=127.0.0.1", "--leader-elect=false",
				kubeconfigFlag("scheduler"), authenticationFlag("scheduler"), authorizationFlag("scheduler"),
				"--kube-api-qps=200", "--kube-api-burst=400",
			},
			After: afterAPIServer,
			Ready: node.Probe{URL: "https://127.0.0.1:10259/healthz"},
		},
	}
}

// nodeComponents returns the programs that every node runs. Those that need the API server start after the given
// components.
func (m Member) nodeComponents(n network, after ...string) []node.Component {
	provisioner := []string{
		binaries.Provisioner, kubeconfigFlag("provisioner"), "--node=" + m.Name(),
		"--name=" + provisionerName, "--root=" + nodeVolumes,
	}
	if m.place == 0 {
		provisioner = append(provisioner, "--shared-name="+sharedProvisionerName, "--shared-root="+nodeShared)
	}
	return []node.Component{
		{
			Name:    binaries.Containerd,
			Command: []string{binaries.Containerd, "--config=" + nodeConfigs + "/containerd.toml"},
			Ready:   node.Probe{Socket: "/run/containerd/containerd.sock"},
		},
		{
			Name: binaries.Kubelet,
			Command: []string{
				binaries.Kubelet, "--config=" + nodeConfigs + "/kubelet.yaml", kubeconfigFlag("kubelet"),
				"--hostname-override=" + m.Name(), "--node-ip=" + n.node(m.place).String(),
				"--node-labels=" + corev1.LabelTopologyRegion + "=" + Region + "," + corev1.LabelTopologyZone + "=" + m.Zone(),
			},
			After: slices.Concat(after, []string{binaries.Containerd}),
			Ready: node.Probe{URL: "http://127.0.0.1:10248/healthz"},
		},
		{
			Name:    binaries.Proxy,
			Command: []string{binaries.Proxy, "--config=" + nodeConfigs + "/kube-proxy.yaml", "--hostname-override=" + m.Name()},
			After:   after,
			Ready:   node.Probe{URL: "http://127.0.0.1:10256/healthz"},
		},
		{Name: binaries.Provisioner, Command: provisioner, After: after},
	}
}

func etcdCommand() []string {
	return []string{
		binaries.Etcd, "--name=" + NodeName, "--data-dir=/var/lib/etcd",
		"--listen-client-urls=https://127.0.0.1:2379", "--advertise-client-urls=https://127.0.0.1:2379",
		"--listen-peer-urls=http://127.0.0.1:2380", "--initial-advertise-peer-urls=http://127.0.0.1:2380",
		"--initial-cluster=" + NodeName + "=http://127.0.0.1:2380",
		"--listen-metrics-urls=http://127.0.0.1:2381",
		"--client-cert-auth", "--trusted-ca-file=" + nodeKeys + "/etcd-ca.crt",
		"--cert-file=" + nodeKeys + "/etcd.crt", "--key-file=" + nodeKeys + "/etcd.key",
		// The state need not survive a crash of the machine, and waiting for the disk would disturb measurements on it.
		"--unsafe-no-fsync",
	}
}

func apiServerCommand(n network) []string {
	return []string{
		binaries.APIServer,
		"--advertise-address=" + n.node(0).String(), "--secure-port=6443",
		"--allow-privileged=true",
		"--authorization-mode=Node,RBAC",
		// OwnerReferencesPermissionEnforcement is off by default but on in OpenShift: a user who creates an object that
		// blocks the deletion of its owner needs the right to update the owner's finalizers.
		"--enable-admission-plugins=NodeRestriction,OwnerReferencesPermissionEnforcement",
		// An event is written before the response is sent, so that a client that has the response finds the event in the log.
		"--audit-policy-file=" + nodeConfigs + "/audit.yaml", "--audit-log-path=" + nodeAuditLog,
		"--audit-log-mode=blocking",
		"--client-ca-file=" + nodeKeys + "/ca.crt",
		"--tls-cert-file=" + nodeKeys + "/apiserver.crt", "--tls-private-key-file=" + nodeKeys + "/apiserver.key",
		"--etcd-servers=https://127.0.0.1:2379",
		"--etcd-cafile=" + nodeKeys + "/etcd-ca.crt",
		"--etcd-certfile=" + nodeKeys + "/etcd.crt", "--etcd-keyfile=" + nodeKeys + "/etcd.key",
		"--kubelet-certificate-authority=" + nodeKeys + "/ca.crt",
		"--kubelet-client-certificate=" + nodeKeys + "/apiserver-kubelet.crt",
		"--kubelet-client-key=" + nodeKeys + "/apiserver-kubelet.key",
		"--kubelet-preferred-address-types=InternalIP",
		// Extension API servers, such as a metrics server, expect these.
		"--requestheader-client-ca-file=" + nodeKeys + "/front-proxy-ca.crt",
		"--requestheader-allowed-names=" + frontProxyUser,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + nodeKeys + "/front-proxy.crt",
		"--proxy-client-key-file=" + nodeKeys + "/front-proxy.key",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + nodeKeys + "/service-accounts.crt",
		"--service-account-signing-key-file=" + nodeKeys + "/service-accounts.key",
		"--service-cluster-ip-range=" + n.services().String(),
		"--shutdown-delay-duration=0s",
	}
}

func controllerManagerCommand(n network) []string {
	return []string{
		binaries.ControllerManager, "--bind-address=127.0.0.1", "--leader-elect=false",
		kubeconfigFlag("controller-manager"), authenticationFlag("controller-manager"), authorizationFlag("controller-manager"),
		"--use-service-account-credentials=true",
		"--service-account-private-key-file=" + nodeKeys + "/service-accounts.key",
		"--root-ca-file=" + nodeKeys + "/ca.crt",
		"--cluster-signing-cert-file=" + nodeKeys + "/ca.crt", "--cluster-signing-key-file=" + nodeKeys + "/ca.key",
		"--cluster-cidr=" + n.pods().String(), "--service-cluster-ip-range=" + n.services().String(),
		"--allocate-node-cidrs=false",
		"--kube-api-qps=200", "--kube-api-burst=400",
	}
}

func kubeconfigFlag(name string) string {
	return fmt.Sprintf("--kubeconfig=%s/%s", nodeKubeconfigs, name)
}

func authenticationFlag(name string) string {
	return fmt.Sprintf("--authentication-kubeconfig=%s/%s", nodeKubeconfigs, name)
}

func authorizationFlag(name string) string {
	return fmt.Sprintf("--authorization-kubeconfig=%s/%s", nodeKubeconfigs, name)
}
