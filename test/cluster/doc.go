// Package cluster is a real Kubernetes with one node, for tests and the demo:
// etcd, API server, controller manager, scheduler, kubelet, kube-proxy,
// containerd, CoreDNS and a provisioner of volumes, built from Go modules, with
// runc and the network plugins of the Linux distribution. Nothing is downloaded
// but modules and packages, and no Docker is needed.
//
// The node is a set of namespaces on this machine, as if it were a container:
//
//	this machine                       the node
//	cluster up, kubectl, tests         process 1: supervises
//	     |                              |- etcd, kube-apiserver, kubelet ...
//	     |                              |- containerd -- shims -- pods
//	sbt<hash> 10.219.255.1 --veth-- eth0 10.219.255.2
//	     routes to pods and services   a veth for each pod (plugin ptp)
//	STATE/var  ---------- is --------- /var
//
// Its network, mounts and processes are its own, so its ports and rules clash
// with nothing, and all of it ends with process 1: the kernel kills what is in
// the namespaces, drops its mounts and its devices. /var and /run are the
// node's own too, which is where Kubernetes keeps things by default; the rest of
// the file system is this machine's. What is left for Down to remove are
// the control groups, the device on this side and the files of the state folder.
//
// Several clusters can run at once, each with a state folder of its own: what is
// on this machine is named by the folder, and each takes a network that no route
// leads to yet.
//
// The node has no way to the outside. What a pod needs is loaded with LoadImage,
// and an image that nobody loaded fails at once.
//
// kube-proxy does the addresses of services, in its nftables mode: it is the
// real thing (a rule made once for the API server would not do for any other
// service) and lives in one table. Pods are connected by veth pairs that are
// routed, not bridged, because services between pods on a bridge depend on
// br_netfilter, which a machine that is itself a container cannot load.
// NetworkPolicies are accepted and not enforced.
//
// What accounts of pods ask of the API server is written down, without contents (State.Audit).
package cluster
