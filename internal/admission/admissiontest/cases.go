// Package admissiontest provides the test cases for the rules of the API. They are in a separate package so that two
// tests can share them: the test of package admission, which needs no API server, and a test in test/integration, which
// compares the verdicts with those of a real API server.
package admissiontest

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// Case is an object to check.
type Case struct {
	// Name is unique in the list of cases.
	Name string
	// Object is a JSON document in which no defaults have been set.
	Object map[string]any
	// UnknownField is true if the API server rejects the object while decoding it, with its own message and before it
	// evaluates any rule.
	UnknownField bool
}

type file struct {
	Bases    map[string]map[string]any `json:"bases"`
	Accepted []caseSource              `json:"accepted"`
	Refused  []caseSource              `json:"refused"`
}

type caseSource struct {
	Name         string         `json:"name"`
	Base         string         `json:"base"`
	Set          map[string]any `json:"set"`
	UnknownField bool           `json:"unknownField"`
}

//go:embed cases.yaml
var source []byte

// Accepted returns the cases that the API server accepts.
func Accepted() ([]Case, error) {
	cases, err := load()
	return cases.accepted, err
}

// Refused returns the cases that the API server rejects.
func Refused() ([]Case, error) {
	cases, err := load()
	return cases.refused, err
}

type lists struct{ accepted, refused []Case }

func load() (lists, error) {
	asJSON, err := yaml.YAMLToJSONStrict(source)
	if err != nil {
		return lists{}, fmt.Errorf("read cases.yaml: %w", err)
	}
	var content file
	if err := utiljson.Unmarshal(asJSON, &content); err != nil {
		return lists{}, fmt.Errorf("decode cases.yaml: %w", err)
	}
	accepted, err := content.build(content.Accepted)
	if err != nil {
		return lists{}, err
	}
	refused, err := content.build(content.Refused)
	if err != nil {
		return lists{}, err
	}
	return lists{accepted: accepted, refused: refused}, nil
}

// build creates the cases. For each case, it copies the object that the case names as its base, and then sets the
// case's fields in the copy.
func (f *file) build(sources []caseSource) ([]Case, error) {
	var cases []Case
	for _, source := range sources {
		base, ok := f.Bases[cmpOr(source.Base, "benchmark")]
		if !ok {
			return nil, fmt.Errorf("case %q: no base %q", source.Name, source.Base)
		}
		if slices.ContainsFunc(cases, func(c Case) bool { return c.Name == source.Name }) {
			return nil, fmt.Errorf("case %q: twice", source.Name)
		}
		object := normalise(runtime.DeepCopyJSON(normalise(base).(map[string]any))).(map[string]any)
		for path, value := range source.Set {
			if err := set(object, path, normalise(value)); err != nil {
				return nil, fmt.Errorf("case %q: %w", source.Name, err)
			}
		}
		cases = append(cases, Case{Name: source.Name, Object: object, UnknownField: source.UnknownField})
	}
	return cases, nil
}

func cmpOr(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// normalise converts whole numbers to int64, as the API server decodes them, and expands strings such as "a*70" to 70
// times the letter a.
func normalise(value any) any {
	switch value := value.(type) {
	case float64:
		if whole := int64(value); float64(whole) == value {
			return whole
		}
	case string:
		if letter, times, ok := strings.Cut(value, "*"); ok && len(letter) == 1 {
			if count, err := strconv.Atoi(times); err == nil {
				return strings.Repeat(letter, count)
			}
		}
	case []any:
		for i := range value {
			value[i] = normalise(value[i])
		}
	case map[string]any:
		for key := range value {
			value[key] = normalise(value[key])
		}
	}
	return value
}

// set sets the value at a path such as spec.run.phases[1].steady. The value "REMOVE" removes the field.
func set(object map[string]any, path string, value any) error {
	var parent any = object
	steps := strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(".[]", r) })
	for i, step := range steps {
		last := i == len(steps)-1
		switch container := parent.(type) {
		case map[string]any:
			switch {
			case last && value == "REMOVE":
				delete(container, step)
			case last:
				container[step] = value
			case container[step] == nil:
				container[step] = map[string]any{}
			}
			parent = container[step]
		case []any:
			index, err := strconv.Atoi(step)
			if err != nil || index >= len(container) {
				return fmt.Errorf("path %s: no index %s", path, step)
			}
			if last {
				container[index] = value
			}
			parent = container[index]
		default:
			return fmt.Errorf("path %s: nothing at %s", path, step)
		}
	}
	return nil
}
