// Package claims decides, from the access modes of a PersistentVolumeClaim, what a run may do with it. It is pure.
//
// Kubernetes accepts uses that cannot work: pods on several nodes can be scheduled with one ReadWriteOnce claim, and
// then wait forever for each other's volume; and a ReadOnlyMany claim is mounted read-write unless the pod says
// otherwise. An impossible use is therefore refused before a pod exists, with the field to change. The plan checks
// templates, and the operator checks existing claims by the same rules.
package claims
