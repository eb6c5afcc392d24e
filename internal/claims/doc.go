// Package claims decides what a run may do with a PersistentVolumeClaim, based on the claim's access modes. Its
// functions have no side effects.
//
// Kubernetes does not prevent uses that cannot work. It can schedule pods that share a ReadWriteOnce claim to several
// nodes, where they wait forever for each other's volume, and it mounts a ReadOnlyMany claim read-write unless the pod
// specifies otherwise. Therefore this package rejects such a use before any pod exists, with an error that names the
// field to change. The plan checks templates, and the operator checks existing claims by the same rules.
package claims
