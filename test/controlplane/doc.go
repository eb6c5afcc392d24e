// Package controlplane builds a real etcd and kube-apiserver from Go modules
// and starts them for tests.
//
// The API server is where our types are judged: no fake evaluates defaults,
// OpenAPI and CEL rules, or keeps a status apart, as the real one does. Its
// binaries are usually downloaded; building them from source needs nothing but
// the module proxy, which whoever builds this project has. The first build
// takes a few minutes; its result is kept in the user's cache directory, by
// version, and used by every checkout:
//
//	~/.cache/storagebench/bin/kube-apiserver-v1.36.3-go1.26.8-linux-amd64
//
// The modules that pin what is built are in hack/kubernetes.
package controlplane
