// Package controlplane starts a real etcd and kube-apiserver for tests.
//
// The API server is where our types are judged: no fake evaluates defaults,
// OpenAPI and CEL rules, or keeps a status apart, as the real one does. Package
// binaries builds both; package cluster starts them with all the rest of
// Kubernetes.
package controlplane
