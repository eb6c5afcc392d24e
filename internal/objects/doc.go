// Package objects builds the Kubernetes objects of a run: its pods, Secrets, claims and network policy.
//
// The package is deterministic: the same run always yields byte-identical objects. An operator that restarts while it
// creates objects therefore creates none of them twice. Tests compare the objects with golden files, and check every
// pod against Pod Security "restricted".
//
// Users can set only a closed list of pod properties (v1alpha1.PodTemplate). This package sets everything else, and the
// user's properties never replace its own: labels are added, affinities combined.
package objects
