// Package installation is what an operator must find in a cluster before it can work: the kinds it
// conducts, and the master key that the identities of all runs derive from (see package identity).
//
// # The master key
//
// It lives in one Secret, storagebench-master, in the operator's own namespace, which is the only place
// where the operator may read Secrets. The first operator makes it; it is never written to again and
// is immutable, so that nobody changes it in passing. An operator that starts again reads it and can
// talk to the agents of live runs at once.
//
// Whoever can read it can pretend to be the operator to every agent. Deleting it makes the next operator
// start with a new one: runs that are live then cannot be reached any more and end by themselves,
// after their steps' deadlines and orphanTimeout; later runs are not touched.
//
// +kubebuilder:rbac:groups="",resources=secrets,verbs=create,namespace=storagebench-system
// +kubebuilder:rbac:groups="",resources=secrets,resourceNames=storagebench-master,verbs=get,namespace=storagebench-system
package installation
