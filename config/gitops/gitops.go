// Package gitops embeds examples for GitOps tools and pipelines, and the health scripts of Argo CD. Tests run them.
package gitops

import "embed"

// Files contains the files of this directory.
//
//go:embed argocd flux pipeline
var Files embed.FS
