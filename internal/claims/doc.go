// Package claims knows what a run may do with a PersistentVolumeClaim, by its access modes. It is pure.
//
// Kubernetes takes more than works: pods of several nodes are scheduled on a ReadWriteOnce claim and then wait for
// ever for each other's volume, and a ReadOnlyMany claim is mounted read-write if nobody says otherwise. So what
// cannot be is refused before there is a pod, with the field to change: of templates by the plan, of claims that
// exist by the operator, by the same rules.
package claims
