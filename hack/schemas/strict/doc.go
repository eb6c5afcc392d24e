// Package strict derives small JSON schemas that reject unknown fields from the schemas that Kubernetes publishes for
// its kinds. An API server silently drops unknown fields, so a misspelt field in a manifest would have no effect and
// cause no error.
package strict
