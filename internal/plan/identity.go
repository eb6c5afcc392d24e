package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// RunHash is the identity of what a benchmark asks to be run: 16 hexadecimal digits that follow from
// its spec.run as the API server gives it, defaults filled in and references not resolved. Runs of
// one benchmark whose spec.run has one hash were asked for in the same words.
//
// A field that is added to the API with a default changes every hash and so starts every benchmark
// again; add it without one, and take its absence for the default.
func RunHash(run *v1alpha1.RunSpec) string {
	// Maps are encoded in the order of their keys and quantities in one form of their own, so equal
	// specifications give equal bytes; the types hold nothing that JSON cannot say.
	encoded, err := json.Marshal(run)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:8])
}

// ContentOf is a short name for what a load writes into its files, wherever it writes it: files with one
// name hold bytes of one kind.
func ContentOf(profile *v1alpha1.FioProfile) string {
	return contentOf(layerOf("", profile))
}

// ContentOfIOR is ContentOf for a load of IOR.
func ContentOfIOR(profile *v1alpha1.IORProfile) string {
	layer := rankLayerOf("", profile, 0)
	return contentOf(layer)
}

func contentOf(layer any) string {
	// As in datasetHash, there is nothing that JSON cannot say.
	encoded, err := json.Marshal(layer)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:6])
}
