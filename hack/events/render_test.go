package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// TestReference checks that every reason is documented and emitted, and that the reference page is current.
func TestReference(t *testing.T) {
	want, err := render(root)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(root, reference))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("docs/reference/events.md is not current: run `make generate`")
	}
}

// TestReasons checks that each reason has the form that Kubernetes requires, and is unique.
func TestReasons(t *testing.T) {
	reasons, err := declared(filepath.Join(root, "api", "v1alpha1", "events.go"))
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, one := range reasons {
		if !regexp.MustCompile(`^[A-Z][A-Za-z]{2,62}$`).MatchString(one.value) || one.constant != "Event"+one.value {
			t.Errorf("%s is %q", one.constant, one.value)
		}
		if slices.Contains(values, one.value) {
			t.Errorf("two constants have the value %s", one.value)
		}
		values = append(values, one.value)
	}
	if len(values) < 20 {
		t.Errorf("only %v", values)
	}
}

// TestReasonsThatAreWrong checks that render refuses reasons without a comment, and reasons that are never emitted.
func TestReasonsThatAreWrong(t *testing.T) {
	for name, test := range map[string]struct{ constants, code, want string }{
		"no comment": {"const (\n\tEventLost = \"Lost\"\n)", "v1alpha1.EventLost", "EventLost has no comment"},
		"not told":   {"const (\n\t// EventLost: it is lost.\n\tEventLost = \"Lost\"\n)", "0", "event EventLost is never recorded"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			write := func(path, text string) {
				path = filepath.Join(folder, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			write("api/v1alpha1/events.go", "package v1alpha1\n"+test.constants)
			for path := range objects {
				write(path+"/events.go", "package a\nvar a = "+test.code)
			}
			if _, err := render(folder); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
