// Package embedded runs simulated CSI drivers in the node of an embedded cluster, for the kubelet that is there.
//
//	this machine                       the node (its mounts, its processes)
//	test                                 csisim --driver fsx.csi.aws.com ...
//	     |  standard input                  |  registers         | mounts      | makes and deletes volumes
//	     +----------------------------------+-> kubelet          +-> stores    +-> API server
//	     |  sockets of the stores                                     ^
//	     +-- truth, set ----------------------------------------------+
//
// The drivers end with the test program, however that ends. Stores of volumes that nobody has deleted go on until
// End, or until the cluster ends; drivers that are started again go on with them.
package embedded
