// Package strict derives JSON schemas from those that Kubernetes publishes for its kinds: small ones, which refuse
// unknown fields. An API server drops such fields silently, so a misspelt field in a manifest would have no effect and
// cause no error.
package strict
