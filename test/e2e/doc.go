// Package e2e tests the operator as users run it: installed in a real cluster by the manifests of config, with its
// images, on volumes that a real kubelet mounts, in namespaces that enforce Pod Security "restricted". Other packages
// test what needs only an API server. The tests here need the scheduler, the kubelet, containerd, a provisioner, the
// network, or processes that really die.
//
//	go test ./test/e2e                                                the cluster of test/cluster
//	CLUSTER=current E2E_VERSION=v1.2.3 go test ./test/e2e             that of the kubeconfig
//
// In a foreign cluster, such as kind, the images of E2E_VERSION must be present (make images VERSION=v1.2.3, then kind
// load image-archive). Tests that need access to the node's machine are skipped there.
//
// Only one test program may use a cluster at a time: it first removes what a killed one left, and it deletes all
// benchmarks. To use another cluster in parallel, set STORAGEBENCH_CLUSTER_STATE, as `make test` and `make soak` do.
// Without the variable, the tests use the cluster that `make demo` starts.
//
// Each test has a space, its own namespace. Tests that only wait run in parallel. Tests that measure time or stop the
// operator run alone, before the others.
package e2e
