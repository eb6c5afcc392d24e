package admission

import (
	"fmt"
	"strings"
)

// Error is one thing that is wrong with a file.
type Error struct {
	// Line in the file, from 1; 0 where it is not known.
	Line int
	// Object is the kind and name of the object, such as
	// StorageBenchmark/quickstart. Empty where it cannot be told.
	Object string
	// Problem of the object. Its path is empty where it is the document
	// itself that cannot be read.
	Problem
}

// Error gives "line 12: StorageBenchmark/a: spec.suspend: ...".
func (e *Error) Error() string {
	var text strings.Builder
	if e.Line > 0 {
		fmt.Fprintf(&text, "line %d: ", e.Line)
	}
	if e.Object != "" {
		text.WriteString(e.Object + ": ")
	}
	if e.Path != "" {
		text.WriteString(e.Path + ": ")
	}
	text.WriteString(e.Message)
	return text.String()
}

// Errors is all that is wrong with a file, in the order of its lines.
type Errors []*Error

// Error gives one line for each.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find the single errors.
func (e Errors) Unwrap() []error {
	errs := make([]error, len(e))
	for i, err := range e {
		errs[i] = err
	}
	return errs
}
