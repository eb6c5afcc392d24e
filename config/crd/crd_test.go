package crd_test

import (
	"context"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/config/crd"
)

// maxFileBytes limits the size of a CRD's file. kubectl apply stores the whole object in an annotation, which may have
// 256 KiB, and Helm stores a whole chart in one Secret, which may have 1 MiB.
const maxFileBytes = 120_000

func load(t *testing.T) map[string]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	files, err := fs.Glob(crd.Bases, "bases/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	definitions := make(map[string]*apiextensionsv1.CustomResourceDefinition)
	for _, file := range files {
		data, err := crd.Bases.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) >= maxFileBytes {
			t.Errorf("%s has %d bytes, the limit is %d", file, len(data), maxFileBytes)
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(data, definition); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		definitions[definition.Spec.Names.Kind] = definition
	}
	return definitions
}

func TestEveryKindHasAFileThatFits(t *testing.T) {
	definitions := load(t)
	for _, kind := range []string{"StorageBenchmark", "WorkloadProfile", "ClusterWorkloadProfile", "BenchmarkRun"} {
		if definitions[kind] == nil {
			t.Errorf("no CRD of kind %s", kind)
		}
	}
	if len(definitions) != 4 {
		t.Errorf("%d CRDs, want 4", len(definitions))
	}
}

// TestPrintColumns checks that the columns of kubectl get refer to existing fields: the API server leaves others empty.
func TestPrintColumns(t *testing.T) {
	definitions := load(t)
	for kind, want := range map[string]string{
		"StorageBenchmark": "Ready Stage Result p99 Figure (Reason) (Last Run) (Next) Age", // (column): only with -o wide
		"BenchmarkRun":     "Complete Stage Result p99 Figure (Reason) Age",
	} {
		version := definitions[kind].Spec.Versions[0]
		var names []string
		for _, column := range version.AdditionalPrinterColumns {
			name := column.Name
			if column.Priority > 0 {
				name = "(" + name + ")"
			}
			names = append(names, name)
			if name == "Age" {
				continue
			}
			field, found := *version.Schema.OpenAPIV3Schema, true
			for name := range strings.SplitSeq(strings.TrimPrefix(column.JSONPath, "."), ".") {
				name, _, filtered := strings.Cut(name, "[")
				if field, found = field.Properties[name]; !found || filtered {
					break
				}
			}
			if !found {
				t.Errorf("%s: column %s is of %s, which does not exist", kind, column.Name, column.JSONPath)
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s has the columns %q, want %q", kind, got, want)
		}
	}
}

// TestRulesCompileWithinTheirCost finds, without an API server, rules that do not compile or exceed the cost limit. An
// API server would refuse the CRD.
func TestRulesCompileWithinTheirCost(t *testing.T) {
	for kind, external := range load(t) {
		t.Run(kind, func(t *testing.T) {
			apiextensionsv1.SetDefaults_CustomResourceDefinition(external)
			apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&external.Spec)
			internal := &apiextensions.CustomResourceDefinition{}
			if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(external, internal, nil); err != nil {
				t.Fatal(err)
			}
			for _, fault := range validation.ValidateCustomResourceDefinition(context.Background(), internal) {
				if strings.HasPrefix(fault.Field, "status.") {
					continue // the API server sets the status
				}
				t.Errorf("%v", fault)
			}
		})
	}
}

// TestRulesHaveMessages checks that every rule has a message that users can act on.
func TestRulesHaveMessages(t *testing.T) {
	for kind, definition := range load(t) {
		for _, version := range definition.Spec.Versions {
			walk(version.Schema.OpenAPIV3Schema, "", func(path string, schema *apiextensionsv1.JSONSchemaProps) {
				for _, rule := range schema.XValidations {
					if rule.Message == "" && rule.MessageExpression == "" {
						t.Errorf("%s%s: the rule %s has no message", kind, path, rule.Rule)
					}
				}
			})
		}
	}
}

// TestNoDefaultsInsideLists checks that no field inside a list has a default. Lists are atomic: if the API server adds
// a default to an item, Argo CD with server-side apply reports a permanent difference, and each kubectl apply sends the
// list again. Defaults inside lists are in api/v1alpha1/defaults.go.
func TestNoDefaultsInsideLists(t *testing.T) {
	for kind, definition := range load(t) {
		for _, version := range definition.Spec.Versions {
			walk(version.Schema.OpenAPIV3Schema, "", func(path string, schema *apiextensionsv1.JSONSchemaProps) {
				if schema.Default != nil && strings.Contains(path, "[]") {
					t.Errorf("%s%s has the default %s", kind, path, schema.Default.Raw)
				}
			})
		}
	}
}

func walk(schema *apiextensionsv1.JSONSchemaProps, path string, visit func(string, *apiextensionsv1.JSONSchemaProps)) {
	visit(path, schema)
	for name, property := range schema.Properties {
		walk(&property, path+"."+name, visit)
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		walk(schema.Items.Schema, path+"[]", visit)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		walk(schema.AdditionalProperties.Schema, path+"{}", visit)
	}
}

// kubernetesOwn lists paths with types of Kubernetes, which we cannot bound.
var kubernetesOwn = []string{
	".template.affinity", ".template.tolerations", ".template.topologySpreadConstraints", ".template.imagePullSecrets",
	".seLinuxOptions", ".claimTemplate.spec", ".status.conditions",
}

// boundedByRule lists maps of plain strings whose values are bounded by a rule of the map: OpenAPI could bound them
// only through a separate type.
var boundedByRule = []string{".template.labels{}", ".template.annotations{}", ".template.nodeSelector{}", ".storage[].volumes[].parameters{}"}

// TestEverythingIsBounded checks that each of our fields is bounded, and that none is a float.
func TestEverythingIsBounded(t *testing.T) {
	for kind, definition := range load(t) {
		for _, version := range definition.Spec.Versions {
			walk(version.Schema.OpenAPIV3Schema, "", func(path string, schema *apiextensionsv1.JSONSchemaProps) {
				own := func(foreign string) bool { return strings.Contains(path, foreign) }
				if slices.ContainsFunc(kubernetesOwn, own) || path == ".apiVersion" || path == ".kind" {
					return
				}
				if slices.ContainsFunc(boundedByRule, func(end string) bool { return strings.HasSuffix(path, end) }) {
					return
				}
				if wrong := unbounded(schema); wrong != "" {
					t.Errorf("%s%s: %s", kind, path, wrong)
				}
			})
		}
	}
}

func unbounded(schema *apiextensionsv1.JSONSchemaProps) string {
	switch {
	case schema.Type == "number":
		return "a float; use an integer with the unit in the name"
	case schema.Type == "array" && schema.MaxItems == nil:
		return "a list without maxItems"
	case schema.AdditionalProperties != nil && schema.MaxProperties == nil:
		return "a map without maxProperties"
	case schema.XIntOrString && schema.MaxLength == nil:
		return "a quantity without maxLength"
	case schema.XIntOrString && schema.Pattern == "" && len(schema.XValidations) == 0:
		return "a quantity without a pattern or a rule"
	case schema.Type == "string" && schema.MaxLength == nil && schema.Enum == nil && schema.Format != "date-time":
		return "a string without maxLength or enum"
	}
	return ""
}

// TestFieldsAreExplained checks that kubectl explain describes each field that users write.
func TestFieldsAreExplained(t *testing.T) {
	for kind, definition := range load(t) {
		if kind == "BenchmarkRun" {
			continue // users do not write runs
		}
		spec := definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		walk(&spec, "", func(path string, schema *apiextensionsv1.JSONSchemaProps) {
			own := func(foreign string) bool {
				below, found := strings.CutPrefix(path[max(0, strings.Index(path, foreign)):], foreign)
				return found && below != ""
			}
			elsewhere := strings.Contains(path, "[].workload.") || strings.Contains(path, ".resources.")
			element := strings.HasSuffix(path, "[]") || strings.HasSuffix(path, "{}")
			if element || elsewhere || slices.ContainsFunc(kubernetesOwn, own) {
				return
			}
			if schema.Description == "" {
				t.Errorf("%s.spec%s: no description", kind, path)
			}
		})
	}
}

// TestStatusWritesOfRunsEvaluateOneRule checks that an update of a BenchmarkRun evaluates only the rule that makes its
// spec immutable. Each write of the status evaluates the rules of the unchanged spec: for a benchmark with 24 phases,
// these took 29 of 83 ms of CPU time.
func TestStatusWritesOfRunsEvaluateOneRule(t *testing.T) {
	var check func(path string, schema apiextensionsv1.JSONSchemaProps)
	check = func(path string, schema apiextensionsv1.JSONSchemaProps) {
		for _, rule := range schema.XValidations {
			if path == "spec" && rule.Rule == "self == oldSelf" {
				continue
			}
			if rule.OptionalOldSelf == nil || !*rule.OptionalOldSelf || !strings.HasPrefix(rule.Rule, "oldSelf.hasValue() || (") {
				t.Errorf("%s: an update evaluates %s", path, rule.Rule)
			}
		}
		for name, property := range schema.Properties {
			check(path+"."+name, property)
		}
		if schema.Items != nil {
			check(path, *schema.Items.Schema)
		}
		if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
			check(path, *schema.AdditionalProperties.Schema)
		}
	}
	check("spec", load(t)["BenchmarkRun"].Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"])
}
