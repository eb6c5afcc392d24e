// Package node is process 1 of the test cluster's node.
//
// It is started in new namespaces of processes, mounts, network, hostname and
// IPC, makes the node's own /var, /run and /proc, sets the network up, and then
// starts the components of Kubernetes in order, restarts what ends, and collects
// what others leave behind, as systemd would on a real node. When it ends the
// kernel ends everything else in the node.
//
// What it does is in a Spec, a file; what it knows it writes to a Status, a
// file. It takes no requests, so nothing can hang on it.
package node
