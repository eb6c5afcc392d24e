package admission

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/internal/spelling"
)

// maxShownValue is the number of characters quoted of a wrong value.
const maxShownValue = 60

func toProblems(object map[string]any, faults field.ErrorList) []Problem {
	problems := make([]Problem, 0, len(faults))
	for _, fault := range faults {
		problem := place(object, fault)
		ruled := func(other *field.Error) bool { return other != fault && other.Field == fault.Field }
		if isQuantityPattern(fault) && slices.ContainsFunc(faults, ruled) {
			continue // the other fault is clearer
		}
		if !slices.Contains(problems, problem) {
			problems = append(problems, problem)
		}
	}
	return problems
}

// isQuantityPattern reports whether the fault is that a value does not look like a quantity.
func isQuantityPattern(fault *field.Error) bool {
	return fault.Type == field.ErrorTypeInvalid && strings.Contains(fault.Detail, "[KMGTPE]i")
}

// describe returns what is wrong with a field. The API server's own text repeats the path and, for a broken rule, gives
// the type of the value instead of the value.
func describe(object map[string]any, fault *field.Error) string {
	detail := strings.TrimPrefix(fault.Detail, fault.Field+" in body ")
	if isQuantityPattern(fault) {
		detail = "write a quantity such as 512, 4Ki or 8Gi"
	}
	switch fault.Type { //nolint:exhaustive // the others need nothing of their own
	case field.ErrorTypeRequired:
		if detail == "name or generateName is required" {
			return "required; add it"
		}
		return cmp.Or(detail, "required; add it")
	case field.ErrorTypeNotSupported:
		return fmt.Sprintf("%s is not known here; %s", show(fault.BadValue), strings.Replace(detail, "supported values:", "use one of", 1))
	case field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTooShort, field.ErrorTypeTooFew:
		return detail + "; shorten it"
	case field.ErrorTypeDuplicate:
		return "is there twice; change or remove one"
	case field.ErrorTypeTypeInvalid:
		return describeType(object, fault, detail)
	}
	if strings.HasPrefix(detail, "should have at least 1 ") {
		return "is empty; add to it, or remove it where it is optional"
	}
	value, found := lookUp(object, fault.Field)
	if shown := show(value); found && shown != "" {
		return shown + ": " + detail
	}
	return detail
}

// describeType explains a value of the wrong type. The most frequent case is text that YAML reads as another type, such
// as yes or 10.
func describeType(object map[string]any, fault *field.Error, detail string) string {
	value, _ := lookUp(object, fault.Field)
	shown := show(value)
	if shown != "" {
		shown += ": "
	}
	if strings.Contains(detail, "must be of type string:") && shown != "" {
		return shown + "YAML reads this as no text; put it in quotes"
	}
	return shown + detail
}

// place returns the path and the message of a fault. A rule about the whole object has no path of its own; its message
// then begins with one. For other rules it removes a repetition of the field from the message.
func place(object map[string]any, fault *field.Error) Problem {
	bare := *fault
	path := fault.Field
	if path == "<nil>" || path == "" {
		path, bare.Detail, _ = strings.Cut(fault.Detail, ": ")
		bare.Field = path
	}
	if steps := parsePath(path); len(steps) > 0 {
		bare.Detail = strings.TrimPrefix(bare.Detail, steps[len(steps)-1].name+": ")
	}
	return Problem{Path: path, Message: describe(object, &bare)}
}

// show quotes a scalar; it returns nothing for larger values.
func show(value any) string {
	switch value := value.(type) {
	case string:
		runes := []rune(value)
		if len(runes) > maxShownValue {
			return fmt.Sprintf("%q...", string(runes[:maxShownValue]))
		}
		return fmt.Sprintf("%q", value)
	case bool, int64, float64:
		return fmt.Sprint(value)
	case nil:
		return "null"
	}
	return ""
}

// lookUp returns the value at a path in a JSON document.
func lookUp(document any, path string) (any, bool) {
	for _, step := range parsePath(path) {
		switch inner := document.(type) {
		case map[string]any:
			value, ok := inner[step.name]
			if step.isIndex || !ok {
				return nil, false
			}
			document = value
		case []any:
			if !step.isIndex || step.index >= len(inner) {
				return nil, false
			}
			document = inner[step.index]
		default:
			return nil, false
		}
	}
	return document, true
}

// unknownField describes an unknown field and suggests a similar known one.
func (r *rules) unknownField(path string) string {
	steps := parsePath(path)
	if len(steps) == 0 {
		return "unknown field; remove it"
	}
	last := steps[len(steps)-1].name
	known := knownFields(r.structural, steps[:len(steps)-1])
	best, distance := "", 3
	for _, candidate := range known {
		if d := editDistance(strings.ToLower(last), strings.ToLower(candidate)); d < distance {
			best, distance = candidate, d
		}
	}
	switch {
	case best != "":
		return fmt.Sprintf("unknown field; did you mean %s?", best)
	case len(known) > 0 && len(known) <= 20:
		return fmt.Sprintf("unknown field; remove it. Known here: %s", strings.Join(known, ", "))
	}
	return "unknown field; remove it"
}

// knownFields returns the names of the fields at a path, sorted.
func knownFields(schema *structuralschema.Structural, steps []pathStep) []string {
	for _, step := range steps {
		if schema == nil {
			return nil
		}
		if step.isIndex {
			schema = schema.Items
			continue
		}
		property, ok := schema.Properties[step.name]
		if !ok {
			return nil
		}
		schema = &property
	}
	if schema == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(schema.Properties))
}

// editDistance returns the number of letters to add, remove or change (Levenshtein). Names longer than any field of the
// API count as far from all fields.
func editDistance(a, b string) int {
	const longest = 64
	if len(a) > longest || len(b) > longest {
		return longest
	}
	return spelling.Distance(a, b)
}
