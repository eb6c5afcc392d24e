package admission

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// Problem is one fault in an object.
type Problem struct {
	// Path is the path of the field, such as spec.run.phases[0].steady.duration.
	Path string
	// Message describes the fault and its remedy.
	Message string
	// Missing is true if the field is required but absent.
	Missing bool
	// Meant lists fields whose faults are only consequences of this fault. For an unknown field, it lists the fields
	// that the user probably meant. For a wrong blockSize, it lists the datasetSize, which must be a multiple of the
	// blockSize.
	Meant [2]string

	// move is the path to which an unknown field should probably be moved with its value unchanged, or "" if no such
	// path is known.
	move string
	// written is the path of the field in the file. It is set only if the field was moved from there to Path.
	written string
}

// Check processes a new object as the API server does when kubectl creates it: it rejects unknown fields, removes null
// fields, sets defaults and validates. The object is a JSON document with whole numbers as int64. Check changes it in
// place and drops its status. It returns the faults in the object, and an error only if the rules cannot be read.
func Check(ctx context.Context, object map[string]any) ([]Problem, error) {
	return check(ctx, object, false)
}

// check implements Check. If all is true, it also evaluates the rules that the API server would skip because of other
// faults. It then reports each rule that is broken, unless the rule concerns a field that already has a fault.
func check(ctx context.Context, object map[string]any, all bool) ([]Problem, error) {
	kind, rules, problem, err := rulesOf(object)
	if err != nil || problem != nil {
		return asList(problem), err
	}
	delete(object, "status")
	problems, fatal := rules.coerce(object)
	if fatal != nil {
		return append(problems, *fatal), nil
	}
	defaulting.Default(object, rules.structural)
	delete(object, "status")
	faults := rules.validate(ctx, kind, object, nil)
	if all && slices.ContainsFunc(faults, blocksRules) {
		faults = append(faults, rules.broken(ctx, object, faults)...)
	}
	found := rules.toProblems(object, faults)
	if all {
		return withoutConsequences(problems, found), nil
	}
	return append(problems, found...), nil
}

// withoutConsequences combines the faults about unknown fields and the faults that the rules found, but omits faults
// that are only consequences of other faults. For example, a misnamed field is not also reported as missing, and if an
// object is written where a list is required, its fields are not also reported as unknown.
func withoutConsequences(unknown, found []Problem) []Problem {
	unknown = slices.DeleteFunc(slices.Clone(unknown), func(p Problem) bool {
		return slices.ContainsFunc(found, func(above Problem) bool {
			return strings.HasSuffix(above.Message, wantedTypes["array"]) && strings.HasPrefix(p.Path, above.Path+".")
		})
	})
	found = slices.DeleteFunc(found, func(p Problem) bool {
		return slices.ContainsFunc(unknown, func(misnamed Problem) bool {
			none := strings.HasPrefix(p.Message, "set exactly one ") && strings.HasPrefix(misnamed.Meant[0], p.Path+".")
			return none || p.Missing && slices.Contains(misnamed.Meant[:], p.Path)
		})
	})
	return append(unknown, found...)
}

// CheckUpdate validates an object that replaces an older version of itself, as the API server does. Both versions must
// be complete, with their defaults set.
func CheckUpdate(ctx context.Context, object, old map[string]any) ([]Problem, error) {
	kind, rules, problem, err := rulesOf(object)
	if err != nil || problem != nil {
		return asList(problem), err
	}
	return rules.toProblems(object, rules.validate(ctx, kind, object, old)), nil
}

func asList(problem *Problem) []Problem {
	if problem == nil {
		return nil
	}
	return []Problem{*problem}
}

// rulesOf returns an object's kind and its rules. If the apiVersion or kind is wrong, it returns that fault instead.
func rulesOf(object map[string]any) (*kind, *rules, *Problem, error) {
	apiVersion, _ := object["apiVersion"].(string)
	name, _ := object["kind"].(string)
	kind, problem, err := findKind(apiVersion, name)
	if err != nil || problem != nil {
		return nil, nil, problem, err
	}
	rules, err := kind.rules()
	if err != nil {
		return nil, nil, nil, fmt.Errorf("compile the rules of %s: %w", name, err)
	}
	return kind, rules, nil, nil
}

// coerce converts an object to the form that its rules expect, and returns a fault for each unknown field. If metadata
// is so malformed that no further check is possible, coerce instead returns that fault as its second result.
func (r *rules) coerce(object map[string]any) ([]Problem, *Problem) {
	written := runtime.DeepCopyJSON(object)
	metadata, found, unknown, err := objectmeta.GetObjectMetaWithOptions(object, objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		return nil, malformedMetadata(object["metadata"])
	}
	options := structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}
	unknown = append(unknown, pruning.PruneWithOptions(object, r.structural, true, options)...)
	defaulting.PruneNonNullableNullsWithoutDefaults(object, r.structural)
	var problems []Problem
	for _, path := range unknown {
		value, _ := lookUp(written, path)
		message, fields, move := r.unknownField(path, value)
		problem := Problem{Path: path, Message: message, move: move}
		for i, name := range fields[:min(len(fields), len(problem.Meant))] {
			problem.Meant[i] = path[:strings.LastIndexByte(path, '.')+1] + name
		}
		problems = append(problems, problem)
	}
	if found {
		if err := objectmeta.SetObjectMeta(object, metadata); err != nil {
			return problems, malformedMetadata(object["metadata"])
		}
	}
	return problems, nil
}

// malformedMetadata describes the value in metadata that has the wrong type.
func malformedMetadata(metadata any) *Problem {
	fields, is := metadata.(map[string]any)
	if !is {
		return &Problem{Path: "metadata", Message: "must contain fields, such as name"}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		path := "metadata." + name
		switch name {
		case "name", "namespace", "generateName":
			if _, is := fields[name].(string); !is {
				return &Problem{Path: path, Message: notText(fields[name])}
			}
		case "labels", "annotations":
			entries, is := fields[name].(map[string]any)
			if !is && fields[name] != nil {
				return &Problem{Path: path, Message: "must contain entries such as app: storage"}
			}
			for _, key := range slices.Sorted(maps.Keys(entries)) {
				if _, is := entries[key].(string); !is {
					return &Problem{Path: path + "[" + key + "]", Message: notText(entries[key])}
				}
			}
		}
	}
	return &Problem{Path: "metadata", Message: "a value has the wrong type; correct it, or keep only name, namespace, labels and annotations"}
}

// validate applies the rules in the API server's order: it checks the metadata, the OpenAPI schema and the uniqueness
// of list items. It then evaluates the CEL rules, unless an earlier fault makes them meaningless.
func (r *rules) validate(ctx context.Context, kind *kind, object, old map[string]any) field.ErrorList {
	wrapped := &unstructured.Unstructured{Object: object}
	faults := apivalidation.ValidateObjectMetaAccessor(wrapped, kind.namespaced && wrapped.GetNamespace() != "",
		apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	faults = append(faults, validation.ValidateCustomResource(nil, object, r.openAPI)...)
	faults = append(faults, listtype.ValidateListSetsAndMaps(nil, r.structural, object)...)
	if slices.ContainsFunc(faults, blocksRules) {
		return faults
	}
	var before any
	if old != nil {
		before = old
	}
	broken, _ := r.cel.Validate(ctx, nil, r.structural, object, before, celconfig.RuntimeCELCostBudget)
	return append(faults, broken...)
}

// broken evaluates the CEL rules on a malformed object and returns a fault for each rule that the object breaks. It
// omits rules that cannot be evaluated. It also omits faults in fields that are related to the field of a known fault,
// because the known fault may have caused them.
func (r *rules) broken(ctx context.Context, object map[string]any, known field.ErrorList) field.ErrorList {
	faults, _ := r.cel.Validate(ctx, nil, r.structural, object, nil, celconfig.RuntimeCELCostBudget)
	return slices.DeleteFunc(faults, func(fault *field.Error) bool {
		if fault.Type == field.ErrorTypeInternal || slices.ContainsFunc([]string{"evaluating rule: ", "did not match a supported operator", "no further validation rules"},
			func(words string) bool { return strings.Contains(fault.Detail, words) }) {
			return true
		}
		return slices.ContainsFunc(known, func(one *field.Error) bool {
			// A missing field may be the cause of any other fault in the same object, except a violation of the rule
			// that exactly one of several fields must be set.
			explains := one.Type != field.ErrorTypeRequired || !strings.HasPrefix(fault.Detail, "set exactly one of")
			return explains && related(one.Field, fault.Field)
		})
	})
}

// blocksRules reports whether the fault makes the API server skip the CEL rules. The rules can be evaluated only on
// data of the expected shape, for example with values of the required types.
func blocksRules(fault *field.Error) bool {
	switch fault.Type { //nolint:exhaustive // other types do not concern the shape
	case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong,
		field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
		return true
	}
	return false
}
