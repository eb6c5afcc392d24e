// Package admission checks files by the rules of the API server, without one.
//
// run --local and plan read the same YAML that a cluster takes. A second set
// of rules in Go would drift from the first, so this package evaluates the very
// CustomResourceDefinitions that are applied to a cluster (package
// config/crd), with the API server's own code: it finds unknown fields, sets
// defaults, and validates by OpenAPI and CEL. A test in test/integration
// compares its verdicts with those of a real kube-apiserver.
//
// All that is wrong with a file is reported at once, each thing with its line.
package admission
