package admission

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/config/crd"
	"github.com/storagebench/storagebench/internal/spelling"
)

// kind is one kind of the API, with its schema and the rules to check its objects.
type kind struct {
	gvk        schema.GroupVersionKind
	namespaced bool
	definition *apiextensionsv1.CustomResourceDefinition

	// rules compiles the rules on first use, because compiling the CEL rules of a kind is slow.
	rules func() (*rules, error)
}

type rules struct {
	structural *structuralschema.Structural
	openAPI    validation.SchemaValidator
	cel        *cel.Validator
}

// kinds returns all kinds by name. It reads them from the embedded CRDs on the first call only.
var kinds = sync.OnceValues(loadKinds)

func loadKinds() (map[string]*kind, error) {
	files, err := fs.Glob(crd.Bases, "bases/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list the embedded CRDs: %w", err)
	}
	loaded := make(map[string]*kind, len(files))
	for _, file := range files {
		data, err := crd.Bases.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read the embedded CRD %s: %w", file, err)
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(data, definition); err != nil {
			return nil, fmt.Errorf("decode the embedded CRD %s: %w", file, err)
		}
		loaded[definition.Spec.Names.Kind] = newKind(definition)
	}
	return loaded, nil
}

func newKind(definition *apiextensionsv1.CustomResourceDefinition) *kind {
	version := definition.Spec.Versions[0]
	return &kind{
		gvk: schema.GroupVersionKind{
			Group:   definition.Spec.Group,
			Version: version.Name,
			Kind:    definition.Spec.Names.Kind,
		},
		namespaced: definition.Spec.Scope == apiextensionsv1.NamespaceScoped,
		definition: definition,
		rules:      sync.OnceValues(func() (*rules, error) { return compile(version.Schema.OpenAPIV3Schema) }),
	}
}

func compile(external *apiextensionsv1.JSONSchemaProps) (*rules, error) {
	props := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(external, props, nil); err != nil {
		return nil, fmt.Errorf("convert the schema: %w", err)
	}
	structural, err := structuralschema.NewStructural(props)
	if err != nil {
		return nil, fmt.Errorf("convert to a structural schema: %w", err)
	}
	openAPI, _, err := validation.NewSchemaValidator(props)
	if err != nil {
		return nil, fmt.Errorf("prepare the OpenAPI validation: %w", err)
	}
	return &rules{
		structural: structural,
		openAPI:    openAPI,
		cel:        cel.NewValidator(structural, true, celconfig.PerCallLimit),
	}, nil
}

// findKind returns the kind of an object. If the apiVersion or kind is wrong, it returns that fault instead.
func findKind(apiVersion, name string) (*kind, *Problem, error) {
	known, err := kinds()
	if err != nil {
		return nil, nil, err
	}
	found, ok := known[name]
	if ok && found.gvk.GroupVersion().String() == apiVersion {
		return found, nil, nil
	}
	if ok {
		return nil, &Problem{Path: "apiVersion", Message: fmt.Sprintf("%q: must be %s, the version that this program supports",
			apiVersion, found.gvk.GroupVersion())}, nil
	}
	names := slices.Sorted(maps.Keys(known))
	if name == "" {
		return nil, &Problem{Path: "kind", Message: "missing; set it to StorageBenchmark, or WorkloadProfile or ClusterWorkloadProfile if the object is a profile"}, nil
	}
	if i := spelling.Nearest(strings.ToLower(name), lower(names), 4); i >= 0 {
		return nil, &Problem{Path: "kind", Message: fmt.Sprintf("%q: did you mean %s?", name, names[i])}, nil
	}
	return nil, &Problem{Path: "kind", Message: fmt.Sprintf("%q is not one of storagebench's kinds (%s); correct it, or keep the object in another file",
		name, strings.Join(names, ", "))}, nil
}
