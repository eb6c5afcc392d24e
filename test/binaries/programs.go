package binaries

// Versions of the programs. A test checks that they match the modules in hack/kubernetes.
const (
	KubernetesVersion = "v1.36.3"
	EtcdVersion       = "v3.6.16"
	ContainerdVersion = "v2.4.2"
	CoreDNSVersion    = "v1.15.0"
	KwokVersion       = "v0.8.0"
	PoliciesVersion   = "v0.7.0"
)

// Names of the programs that Build accepts.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kubelet           = "kubelet"
	Proxy             = "kube-proxy"
	Kubectl           = "kubectl"
	CoreDNS           = "coredns"
	Provisioner       = "local-provisioner"
	Containerd        = "containerd"
	Shim              = "containerd-shim-runc-v2"
	Ctr               = "ctr"
	Pause             = "pause"
	// Kwok simulates nodes and their pods. It is not part of Cluster.
	Kwok = "kwok"
	// Policies enforces NetworkPolicies. It is not part of Cluster.
	Policies = "policies"
)

// module is a Go module in hack that pins the version of programs.
type module struct {
	// folder is the path of the module below hack.
	folder      string
	linkerFlags string
	// usual is the usual duration of the first build of all its programs on a small machine. Messages to the waiting
	// user show it.
	usual string
}

// program is a program of a module.
type program struct {
	name    string
	version string
	module  *module
	// mainPackage is an import path, or a folder of the module if it starts with a dot. The program's file name then
	// includes a digest of the sources in that folder.
	mainPackage string
}

var (
	kubernetesModule = &module{
		folder: "kubernetes",
		// kubectl refuses to talk to an API server without a version.
		linkerFlags: "-s -w -X k8s.io/component-base/version.gitVersion=" + KubernetesVersion,
		usual:       "6 minutes",
	}
	etcdModule = &module{
		folder:      "kubernetes/etcd",
		linkerFlags: "-s -w",
		usual:       "1 minute",
	}
	containerdModule = &module{
		folder:      "kubernetes/containerd",
		linkerFlags: "-s -w -X github.com/containerd/containerd/v2/version.Version=" + ContainerdVersion,
		usual:       "2 minutes",
	}
	corednsModule = &module{
		folder:      "kubernetes/coredns",
		linkerFlags: "-s -w",
		usual:       "2 minutes",
	}
	kwokModule = &module{
		folder:      "kubernetes/kwok",
		linkerFlags: "-s -w -X sigs.k8s.io/kwok/pkg/consts.Version=" + KwokVersion,
		usual:       "2 minutes",
	}
	policiesModule = &module{
		folder:      "kubernetes/policies",
		linkerFlags: "-s -w",
		usual:       "1 minute",
	}
)

var programs = []program{
	{Etcd, EtcdVersion, etcdModule, "go.etcd.io/etcd/server/v3"},
	{Containerd, ContainerdVersion, containerdModule, "github.com/containerd/containerd/v2/cmd/containerd"},
	{Shim, ContainerdVersion, containerdModule, "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2"},
	{Ctr, ContainerdVersion, containerdModule, "github.com/containerd/containerd/v2/cmd/ctr"},
	{APIServer, KubernetesVersion, kubernetesModule, "k8s.io/kubernetes/cmd/kube-apiserver"},
	{ControllerManager, KubernetesVersion, kubernetesModule, "k8s.io/kubernetes/cmd/kube-controller-manager"},
	{Scheduler, KubernetesVersion, kubernetesModule, "k8s.io/kubernetes/cmd/kube-scheduler"},
	{Kubelet, KubernetesVersion, kubernetesModule, "k8s.io/kubernetes/cmd/kubelet"},
	{Proxy, KubernetesVersion, kubernetesModule, "k8s.io/kubernetes/cmd/kube-proxy"},
	{Kubectl, KubernetesVersion, kubernetesModule, "k8s.io/kubernetes/cmd/kubectl"},
	{CoreDNS, CoreDNSVersion, corednsModule, "."},
	{Provisioner, "v1", kubernetesModule, "./local-provisioner"},
	{Pause, "v1", kubernetesModule, "./pause"},
	{Kwok, KwokVersion, kwokModule, "sigs.k8s.io/kwok/cmd/kwok"},
	{Policies, PoliciesVersion, policiesModule, "."},
}

// ControlPlane returns the programs that validate objects: etcd and the API server.
func ControlPlane() []string { return []string{Etcd, APIServer} }

// Cluster returns the programs of a complete cluster.
func Cluster() []string {
	names := make([]string, 0, len(programs))
	for _, program := range programs {
		if program.module != kwokModule && program.module != policiesModule {
			names = append(names, program.name)
		}
	}
	return names
}
