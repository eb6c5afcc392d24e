// Package binaries builds the programs of a Kubernetes cluster from Go modules
// and keeps them, for tests that want the real ones.
//
// They are usually downloaded; building them from source needs nothing but the
// module proxy, which whoever builds this project has. The first build takes
// minutes; its result is kept in the user's cache directory, by version, and
// used by every checkout:
//
//	~/.cache/storagebench/bin/kube-apiserver-v1.36.3-go1.26.8-linux-amd64
//
// The modules that pin what is built are in hack/kubernetes. They are modules of
// their own, because what Kubernetes depends on is not what this project depends
// on.
package binaries
