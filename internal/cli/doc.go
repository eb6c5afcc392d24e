// Package cli implements kubectl-storagebench, one file per verb.
package cli
