// Package cli implements kubectl-storagebench, with one file per command.
package cli
