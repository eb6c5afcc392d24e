// Package cluster is a real Kubernetes with one node or several, for tests and the
// demo: etcd, API server, controller manager, scheduler, kubelet, kube-proxy,
// containerd, CoreDNS and a provisioner of volumes, built from Go modules, with
// runc and the network plugins of the Linux distribution. Nothing is downloaded
// but modules and packages, and no Docker is needed.
//
// A node is a set of namespaces on this machine, as if it were a container:
//
//	this machine                       the first node               another node
//	cluster up, kubectl, tests         process 1: supervises        process 1
//	     |                              |- etcd, kube-apiserver ...  |
//	     |                              |- kubelet, kube-proxy ...   |- kubelet, kube-proxy ...
//	     |                              |- containerd -- pods        |- containerd -- pods
//	sbt<hash> x.y.255.1 --veth-- x.y.255.2 eth0
//	                             x.y.255.5 node-1 --veth-- x.y.255.6 eth0
//	     routes to pods and services   a veth for each pod (plugin ptp)
//	STATE/var     ------- is --------- /var
//	STATE/nodes/1 ------- is -------------------------------------- /var
//
// Its network, mounts and processes are its own, so its ports and rules clash
// with nothing, and all of it ends with process 1: the kernel kills what is in
// the namespaces, drops its mounts and its devices. /var and /run are the
// node's own too, which is where Kubernetes keeps things by default; the rest of
// the file system is this machine's. What is left for Down to remove are
// the control groups, the device on this side and the files of the state folder.
//
// The first node runs the control plane beside its pods, and is the gateway of the
// others, so that this machine forwards nothing. The others run what every node
// runs. One whose process 1 was killed, which kills all of it at once, is started by
// the next `cluster up` with the /var that it had, as after a power failure; without
// the first node the cluster begins anew. Each node says that it has all CPUs and all
// memory of this machine, has a zone of its own, and the clock of this machine.
//
// Volumes of the class "local", the default, are folders of the node that the first
// pod of a claim runs on, and keep the claim's pods there. Those of "shared" are
// folders of STATE/shared, which every node sees: ReadWriteMany as on a file server.
//
// Several clusters can run at once, each with a state folder of its own: what is
// on this machine is named by the folder, and each takes a network that no route
// leads to yet.
//
// The nodes have no way to the outside. What a pod needs is loaded with LoadImage, on
// all nodes, and an image that was not loaded fails at once.
//
// kube-proxy does the addresses of services, in its nftables mode: it is the
// real thing (a rule made once for the API server would not do for any other
// service) and lives in one table. Pods are connected by veth pairs that are
// routed, not bridged, because services between pods on a bridge depend on
// br_netfilter, which a machine that is itself a container cannot load.
// NetworkPolicies are accepted and not enforced; a test of test/e2e adds an engine.
//
// What accounts of pods ask of the API server is written down, without contents (State.Audit).
package cluster
