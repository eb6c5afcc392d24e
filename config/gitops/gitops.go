// Package gitops holds examples for GitOps and pipelines, and the health scripts of Argo CD. Tests run them.
package gitops

import "embed"

// Files of the folder.
//
//go:embed argocd flux pipeline
var Files embed.FS
