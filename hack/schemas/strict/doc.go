// Package strict derives small JSON schemas that refuse unknown fields from the schemas that Kubernetes publishes
// for its kinds. An API server drops unknown fields silently, so a misspelt field in a manifest would have no effect
// and cause no error.
package strict
