// Package embedded runs simulated CSI drivers in the node of an embedded cluster, for its real kubelet.
//
//	this machine                       the node (its mounts, its processes)
//	test                                 csisim --driver fsx.csi.aws.com ...
//	     |  standard input                  |  registers         | mounts      | makes and deletes volumes
//	     +----------------------------------+-> kubelet          +-> stores    +-> API server
//	     |  sockets of the stores                                     ^
//	     +-- truth, set ----------------------------------------------+
//
// The drivers end with the test program, even if it is killed. The stores of volumes that were not deleted continue
// until End, or until the cluster ends; drivers that are started again use them.
package embedded
