// Package installation covers what an operator needs in a cluster before it can work: the CRDs of its kinds, and the
// master key from which the identities of all runs derive (see package identity).
//
// # The master key
//
// The master key is stored in one Secret, storagebench-master, in the operator's own namespace, which is the only
// namespace where the operator may read Secrets. The first operator creates the Secret. It is never updated, and is
// immutable to prevent accidental changes. A restarted operator reads the key and can connect to the agents of live
// runs immediately.
//
// Anyone who can read the Secret can impersonate the operator to every agent. If the Secret is deleted, the next
// operator creates a new one, but cannot connect to the agents of live runs. These runs end by themselves when their
// steps' deadlines and orphanTimeout have passed. Later runs are not affected.
//
// +kubebuilder:rbac:groups="",resources=secrets,verbs=create,namespace=storagebench-system
// +kubebuilder:rbac:groups="",resources=secrets,resourceNames=storagebench-master,verbs=get,namespace=storagebench-system
package installation
