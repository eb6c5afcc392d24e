// Package binaries builds the programs of a Kubernetes cluster from Go modules and caches them, for tests that need the
// real programs.
//
// Building from source requires only the Go module proxy, which the project needs anyway, and no other downloads. The
// first build takes minutes. Programs are cached by version in the user's cache directory, which all checkouts share:
//
//	~/.cache/storagebench/bin/kube-apiserver-v1.36.3-go1.26.8-linux-amd64
//
// The modules in hack/kubernetes pin the versions. They are separate modules, so that the dependencies of Kubernetes do
// not affect those of this project.
package binaries
