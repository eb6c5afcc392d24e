// Package admission checks files by the rules of the API server, without a server.
//
// run --local and plan read the same YAML as a cluster. If the rules were written in Go a second time, the two versions
// would eventually differ. Therefore this package evaluates the CustomResourceDefinitions that are applied to a cluster
// (package config/crd) with the API server's own code: it finds unknown fields, sets defaults, and validates by OpenAPI
// and CEL. A test in test/integration compares its verdicts with those of a real kube-apiserver.
//
// It reports all faults of a file at once, each with its line.
package admission
