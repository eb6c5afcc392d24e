// Package gitops embeds examples for GitOps tools and pipelines, and health scripts for Argo CD, so that tests can run
// them.
package gitops

import "embed"

// Files contains the files of this directory.
//
//go:embed argocd flux pipeline
var Files embed.FS
