// Package cli is kubectl-storagebench, one file a verb.
package cli
