// Package claims decides what a run may do with a PersistentVolumeClaim, based on the claim's access modes and its
// volume mode. Its functions have no side effects.
//
// Kubernetes does not prevent pods from using a claim in ways that cannot work. It can schedule pods that share a
// ReadWriteOnce claim to several nodes. Only the pods on one of these nodes then get the volume, so the pods on the
// other nodes never become ready. Kubernetes also mounts a ReadOnlyMany claim read-write unless the pod specifies
// otherwise. Therefore this package rejects these uses before any pod exists, with an error that names the field to
// change. The plan checks templates, and the operator checks existing claims by the same rules.
package claims
