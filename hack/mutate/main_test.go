package main

import (
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// TestMutants checks that each operator yields its mutants, that their keys are unique, and that all mutants parse.
func TestMutants(t *testing.T) {
	const file = `package p

func f(a, b int, c bool) (int, bool) {
	if a < b && c {
		a++
		a = b + 2
		a = b + 2
	}
	switch {
	case a == 3:
		g()
	}
	for a > 0 {
		break
	}
	defer h.unlock()
	defer h.Close()
	defer func() { _ = h.close() }()
	_ = h.file.Close()
	return a, true
}
`
	found, err := mutantsOf("p.go", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, m := range found {
		keys = append(keys, m.key())
		if string(m.text) == file {
			t.Errorf("%s changes nothing", m)
		}
		if _, err := parser.ParseFile(token.NewFileSet(), "p.go", m.text, 0); err != nil {
			t.Errorf("%s: %v", m, err)
		}
	}
	for _, want := range []string{
		"p.go f 0: a < b && c => !(a < b && c)", "p.go f 0: a < b && c => a < b || c", "p.go f 0: a < b => a <= b", "p.go f 0: a++ => ",
		"p.go f 0: a = b + 2 => ", "p.go f 1: a = b + 2 => ", "p.go f 1: b + 2 => b - 2", "p.go f 0: 2 => 3",
		"p.go f 0: a == 3 => !(a == 3)", "p.go f 0: g() => ", "p.go f 0: defer h.unlock() => ", "p.go f 0: _ = h.file.Close() => ", "p.go f 0: break => ", "p.go f 0: true => false", "p.go f 0: a > 0 => a >= 0",
	} {
		if !slices.Contains(keys, want) {
			t.Errorf("no mutant %q", want)
		}
	}
	if slices.ContainsFunc(keys, func(key string) bool {
		return strings.Contains(key, "defer h.Close") || strings.Contains(key, "h.close()")
	}) {
		t.Errorf("a mutant only leaves something open: %q", keys)
	}
	if unique := slices.Compact(slices.Sorted(slices.Values(keys))); len(unique) != len(keys) {
		t.Errorf("several mutants have one key: %q", keys)
	}
}
