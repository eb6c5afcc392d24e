// Package crd holds the CustomResourceDefinitions as they are applied to a
// cluster. It exists so that the command line can check a file by exactly the
// rules that the API server would apply, without one.
//
// The files are generated from the markers in api/v1alpha1 (make generate):
// controller-gen writes them, and the program in finish makes them small enough
// to apply.
package crd

import "embed"

// Bases are the files, in the folder bases, one a kind.
//
//go:embed bases/*.yaml
var Bases embed.FS
