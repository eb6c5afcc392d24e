package observation

import "github.com/prometheus/prometheus/promql/parser"

// Syntax returns the syntax error that Prometheus would report for an expression, or nil. It accepts only the functions
// that Prometheus supports; other systems with the same API may support more.
func Syntax(expression string) error {
	_, err := parser.NewParser(parser.Options{EnableExperimentalFunctions: true}).ParseExpr(expression)
	return err
}
