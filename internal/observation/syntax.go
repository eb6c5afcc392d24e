package observation

import "github.com/prometheus/prometheus/promql/parser"

// Syntax returns the fault that Prometheus would find in an expression, or nil. It knows the functions of Prometheus
// only: other systems with the same API may have more.
func Syntax(expression string) error {
	_, err := parser.NewParser(parser.Options{EnableExperimentalFunctions: true}).ParseExpr(expression)
	return err
}
