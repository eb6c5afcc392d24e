// Package strict converts the JSON schemas that Kubernetes publishes for its kinds into smaller ones that reject
// unknown fields. An API server silently drops such fields, so a misspelt field in a manifest would have no effect and
// cause no error.
package strict
