// Package node implements process 1 of a node of the test cluster.
//
// It runs in new process, mount, network, UTS and IPC namespaces. It mounts the node's own /var, /run and /proc, sets
// up the network, starts the components of Kubernetes in order, restarts those that end, and reaps orphaned processes,
// as systemd would on a real node. When it ends, the kernel ends everything else in the node.
//
// It reads a Spec from a file and writes a Status to another file. It serves no requests, so no client can hang on it.
package node
