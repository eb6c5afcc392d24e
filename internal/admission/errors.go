package admission

import (
	"cmp"
	"fmt"
	"slices"
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

// Sort puts them into the order of their lines.
func (e Errors) Sort() {
	slices.SortStableFunc(e, func(a, b *Error) int { return cmp.Compare(a.Line, b.Line) })
}

// About reports whether one of them is about that field of an object, or about one that it holds.
func (e Errors) About(object, path string) bool {
	steps := len(parsePath(path))
	return slices.ContainsFunc(e, func(err *Error) bool {
		return err.Object == object && related(err.Path, path) && len(parsePath(err.Path)) >= steps
	})
}

// related reports whether one of two fields is the other, or holds it.
func related(a, b string) bool {
	left, right := parsePath(a), parsePath(b)
	for i := range min(len(left), len(right)) {
		if left[i] != right[i] {
			return false
		}
	}
	return true
}

// Unwrap lets errors.As find the single errors.
func (e Errors) Unwrap() []error {
	errs := make([]error, len(e))
	for i, err := range e {
		errs[i] = err
	}
	return errs
}
