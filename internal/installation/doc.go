// Package installation covers what an operator needs in a cluster before it can work: the CRDs of its kinds, and the
// master key from which the identities of all runs derive (see package identity).
//
// # The master key
//
// The master key is in one Secret, storagebench-master, in the operator's own namespace, which is the only namespace
// where the operator may read Secrets. The first operator creates it. It is never written again, and is immutable, so
// that it is not changed by accident. A restarted operator reads it and can talk to the agents of live runs at once.
//
// Anyone who can read it can impersonate the operator to every agent. If it is deleted, the next operator starts with a
// new one: live runs can no longer be reached and end by themselves, after their steps' deadlines and orphanTimeout;
// later runs are not affected.
//
// +kubebuilder:rbac:groups="",resources=secrets,verbs=create,namespace=storagebench-system
// +kubebuilder:rbac:groups="",resources=secrets,resourceNames=storagebench-master,verbs=get,namespace=storagebench-system
package installation
