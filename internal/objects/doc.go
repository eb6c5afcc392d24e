// Package objects builds the Kubernetes objects of a run: its pods, Secrets, claims and network policy.
//
// It is pure: the same run always gives the same objects, byte for byte. An operator that restarts in the middle
// therefore creates nothing twice, the golden files show what a cluster gets, and a test can check every pod against
// Pod Security "restricted".
//
// Users can set only a closed list of pod properties (v1alpha1.PodTemplate). This package sets everything else, and the
// user's properties never replace its own: labels are added, affinities combined.
package objects
