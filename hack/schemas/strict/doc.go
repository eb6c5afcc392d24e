// Package strict makes JSON schemas of what Kubernetes publishes of its kinds: small ones, which refuse a field
// that the kind does not have. An API server drops such a field in silence, so a word that is misspelt in a
// manifest does nothing, and nobody is told.
package strict
