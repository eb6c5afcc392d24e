// Package integration tests what only a real API server can answer: whether it accepts our CustomResourceDefinitions,
// which specs it refuses and with which messages, which defaults it sets, and that a run's spec cannot be changed.
//
// It starts etcd and kube-apiserver once (package test/controlplane). With go test -short it does nothing.
package integration
