// Package controlplane starts a real etcd and kube-apiserver for tests.
//
// Tests of our types need a real API server: no fake applies defaults, OpenAPI and CEL rules, and the status
// subresource exactly as it does. Package binaries builds both programs. Package cluster starts them with the rest of
// Kubernetes.
package controlplane
