// Package crd embeds the CustomResourceDefinitions as they are applied to a cluster, so that the command-line tool can
// check a file against the API server's rules without a server.
//
// The files are generated from the markers in api/v1alpha1 (make generate): controller-gen writes them, and the
// program in finish makes them small enough to apply.
package crd

import "embed"

// Bases contains the files of the directory bases, one per kind.
//
//go:embed bases/*.yaml
var Bases embed.FS
