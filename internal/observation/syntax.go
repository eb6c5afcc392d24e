package observation

import "github.com/prometheus/prometheus/promql/parser"

// Syntax returns the syntax error that Prometheus would report for an expression, or nil. It knows only the functions
// of Prometheus itself; other systems with the same API may have more.
func Syntax(expression string) error {
	_, err := parser.NewParser(parser.Options{EnableExperimentalFunctions: true}).ParseExpr(expression)
	return err
}
