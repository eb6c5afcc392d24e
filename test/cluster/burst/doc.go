// Package burst puts stores of test/burstfs into the node of an embedded cluster, as volumes for pods.
//
//	this machine                    the node (its mounts, its processes)
//	test or `cluster burst up`      burstfs -- mounts --> /run/storagebench-burst/NAME/mount
//	     |  socket                     |                        ^ bound by the kubelet
//	     +-- set, truth, end ----------+                     a local PersistentVolume, its claim, pods
//
// A store lives in the process namespace of the node, so it ends with the cluster; one of a test ends with the
// test program as well, however that ends, because it holds the store's standard input. Files are in the memory of
// the node: no disk of this machine sets the pace. Pods of any user can write, as on a store that they own.
//
// There is no CSI driver, so volumes are static; see [Store.Volume] and [Store.Claim].
package burst
