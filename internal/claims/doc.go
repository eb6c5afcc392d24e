// Package claims decides what a run may do with a PersistentVolumeClaim, by its access modes. It is pure.
//
// Kubernetes accepts more than works: pods on several nodes can be scheduled with one ReadWriteOnce claim, and then
// wait forever for each other's volume; and a ReadOnlyMany claim is mounted read-write unless the pod says otherwise.
// So an impossible use is refused before there is a pod, with the field to change: by the plan for templates, and by
// the operator for existing claims, by the same rules.
package claims
