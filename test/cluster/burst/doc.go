// Package burst puts stores of test/burstfs into the node of an embedded cluster, as volumes for pods.
//
//	this machine                    the node (its mounts, its processes)
//	test or `cluster burst up`      burstfs -- mounts --> /run/storagebench-burst/NAME/mount
//	     |  socket                     |                        ^ bound by the kubelet
//	     +-- set, truth, end ----------+                     a local PersistentVolume, its claim, pods
//
// A store runs in the process namespace of the node, so it ends with the cluster. The store of a test also ends with
// the test program, even if that is killed, because the program holds the store's standard input. Files are in the
// node's memory, so that no disk of this machine limits the rate. Pods of any user can write.
//
// There is no CSI driver, so volumes are static; see [Store.Volume] and [Store.Claim].
package burst
