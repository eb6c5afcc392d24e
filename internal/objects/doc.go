// Package objects builds the Kubernetes objects of a run: its pods, Secrets, claims and network policy.
//
// It is pure: the same run gives the same objects, byte for byte, whoever asks and whenever. So an
// operator that died in the middle makes no second of anything, the golden files show what a cluster
// gets, and a test can hold every pod against Pod Security "restricted".
//
// What a user may say of pods is a closed list (v1alpha1.PodTemplate). Everything else is set here,
// and nothing of the user's replaces what is set here: labels are added, affinities combined.
package objects
