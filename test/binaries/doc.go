// Package binaries builds the programs of a Kubernetes cluster from Go modules and caches them, for tests that need the
// real programs.
//
// Building them from source, instead of downloading them, needs only the module proxy, which building this project
// needs too. The first build takes minutes. Its results are kept in the user's cache directory by version, and are
// shared by all checkouts:
//
//	~/.cache/storagebench/bin/kube-apiserver-v1.36.3-go1.26.8-linux-amd64
//
// The modules in hack/kubernetes pin the versions. They are separate modules because Kubernetes and this project have
// different dependencies.
package binaries
