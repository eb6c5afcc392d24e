// Package e2e tests the operator as users have it: installed in a real cluster by the manifests of config,
// with its images, on volumes that a real kubelet mounts, in namespaces that enforce Pod Security
// "restricted". What the API server alone can show is tested elsewhere; here are the scheduler,
// the kubelet, containerd, a provisioner, the network, and processes that really die.
//
//	go test ./test/e2e                                                the cluster of test/cluster
//	CLUSTER=current E2E_VERSION=v1.2.3 go test ./test/e2e             that of the kubeconfig
//
// Images of E2E_VERSION have to be there in a cluster that is not ours, such as kind (make images
// VERSION=v1.2.3, then kind load image-archive). Tests that need the machine of the node
// are skipped there.
//
// One test program at a time uses a cluster: it begins by removing what one that died has left, and it deletes all
// benchmarks. Another cluster beside it has another STORAGEBENCH_CLUSTER_STATE, as that of `make test` and `make soak`
// has. Without the variable, the tests use the cluster that `make demo` starts.
//
// Each test has a space, which is its own namespace. Tests that only wait run side by side. Tests that measure time or
// stop the operator run alone, before the others.
package e2e
