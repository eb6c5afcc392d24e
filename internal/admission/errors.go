package admission

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Error is one fault of a file.
type Error struct {
	// Line is the line in the file, counted from 1, or 0 if it is unknown.
	Line int
	// Object is the kind and name of the object, such as StorageBenchmark/quickstart, or "" if they are unknown.
	Object string
	// Problem is the fault. Its path is empty if the document itself cannot be read.
	Problem
}

// Error formats the fault as "line 12: StorageBenchmark/a: spec.suspend: ...".
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

// Errors lists the faults of a file, in the order of their lines.
type Errors []*Error

// Error returns one line per fault.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// Sort sorts the faults by line, and faults on the same line by path.
func (e Errors) Sort() {
	slices.SortStableFunc(e, func(a, b *Error) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Path, b.Path)) })
}

// About reports whether a fault concerns the given field of an object or a field inside it. It also returns true if the
// fault explains why the field is missing: the parent of the field is missing, or the file contains the field under a
// wrong name.
func (e Errors) About(object, path string) bool {
	steps := len(parsePath(path))
	return slices.ContainsFunc(e, func(err *Error) bool {
		return err.Object == object && (slices.Contains(err.Meant[:], path) || related(err.Path, path) && (err.Missing || len(parsePath(err.Path)) >= steps))
	})
}

// related reports whether two fields are the same or one contains the other.
func related(a, b string) bool {
	left, right := parsePath(a), parsePath(b)
	for i := range min(len(left), len(right)) {
		if left[i] != right[i] {
			return false
		}
	}
	return true
}

// Unwrap lets errors.As find the individual faults.
func (e Errors) Unwrap() []error {
	errs := make([]error, len(e))
	for i, err := range e {
		errs[i] = err
	}
	return errs
}
