// Package cluster runs a real Kubernetes cluster with one node or several, for tests and the demo: etcd, API server,
// controller manager, scheduler, kubelet, kube-proxy, containerd, CoreDNS and a volume provisioner, built from Go
// modules, with runc and the CNI plugins of the Linux distribution. It downloads only modules and packages, and needs
// no Docker.
//
// A node is a set of namespaces on this machine, like a container:
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
// A node has its own network, mounts and processes, so its ports and firewall rules conflict with nothing else, and
// everything in it ends with its process 1: the kernel kills the processes in the namespaces and removes their mounts
// and devices. /var and /run, where Kubernetes keeps its files by default, also belong to the node; the rest of the
// file system is this machine's. Down then removes what remains: the control groups, the network device on this machine
// and the files in the state folder.
//
// The first node runs the control plane beside its pods, and is the gateway of the others, so that this machine
// forwards no packets. The others run only what every node runs. Killing a node's process 1 kills the whole node at
// once, as a power failure would; the next `cluster up` starts the node again with the same /var. If the first node has
// died, `cluster up` starts a new cluster. Each node reports all CPUs and all memory of this machine, has its own zone,
// and shares this machine's clock.
//
// Volumes of the default class "local" are folders of the node on which the first pod of a claim runs; all pods of the
// claim must run there. Volumes of the class "shared" are folders of STATE/shared, which every node mounts:
// ReadWriteMany, as on a file server.
//
// Several clusters can run at once, each with its own state folder: the names of their devices and control groups
// depend on the folder, and each cluster takes a network to which this machine has no route yet.
//
// The nodes cannot reach other networks. LoadImage loads an image on all nodes; pulling an image that was not loaded
// fails at once.
//
// kube-proxy implements service addresses, in its nftables mode, which uses a single table. A fixed rule for the API
// server would be simpler, but would serve no other service. Pods are connected by routed veth pairs instead of a
// bridge, because services between pods on a bridge need br_netfilter, which cannot be loaded if this machine is a
// container. NetworkPolicies are accepted but not enforced; a test in test/e2e adds an engine that enforces them.
//
// The API server logs the requests of service accounts, without their contents; see State.Audit.
package cluster
