package release

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/storagebench/storagebench/hack/release/compatible"
)

const (
	kindsNow      = root + "/config/crd/bases"
	kindsReleased = root + "/config/crd/released"
)

// TestKindsAreCompatible checks that the kinds break no user of the last release's kinds, which `make release` wrote.
func TestKindsAreCompatible(t *testing.T) {
	report, err := compatible.Folders(kindsReleased, kindsNow)
	if err != nil {
		t.Fatal(err)
	}
	if report.Released == "" {
		if there, err := filepath.Glob(kindsReleased + "/*.yaml"); err != nil || len(there) > 0 {
			t.Errorf("there are kinds in %s, and nothing says of which version: `make release` alone writes there (%v)", kindsReleased, err)
		}
		t.Log("Nothing is released yet: there is nothing to be compatible with")
		return
	}
	for _, broken := range report.Breaks {
		t.Errorf("not compatible with %s: %v", report.Released, broken)
	}
	for _, rule := range report.Rules {
		t.Logf("new since %s: %s", report.Released, rule)
	}
	sums := string(readFile(t, filepath.Join(kindsReleased, compatible.SumsFile)))
	released, err := filepath.Glob(kindsReleased + "/*.yaml")
	if err != nil || len(released) != strings.Count(sums, "\n") {
		t.Errorf("%d kinds were released and %d are there: %v", strings.Count(sums, "\n"), len(released), err)
	}
	for _, file := range released {
		if line := fmt.Sprintf("%x  %s\n", sha256.Sum256(readFile(t, file)), filepath.Base(file)); !strings.Contains(sums, line) {
			t.Errorf("%s is not what was released; `make release` alone writes there", file)
		}
	}
}

// at changes the schema at a path of the kind, such as "spec run clients count". * stands for the items of a list.
func at(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, path string, change func(*apiextensionsv1.JSONSchemaProps)) {
	t.Helper()
	// Properties is a map of values, so each changed value is written back.
	var walk func(schema *apiextensionsv1.JSONSchemaProps, names []string)
	walk = func(schema *apiextensionsv1.JSONSchemaProps, names []string) {
		if len(names) == 0 {
			change(schema)
			return
		}
		if names[0] == "*" {
			walk(schema.Items.Schema, names[1:])
			return
		}
		property, there := schema.Properties[names[0]]
		if !there {
			t.Fatalf("there is no %s in %s", names[0], path)
		}
		walk(&property, names[1:])
		schema.Properties[names[0]] = property
	}
	walk(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, strings.Fields(path))
}

// TestBreaksAreFound checks that each breaking change is reported with its field, and that compatible changes are not.
func TestBreaksAreFound(t *testing.T) {
	type schema = apiextensionsv1.JSONSchemaProps
	number := func(value float64) *float64 { return &value }
	whole := func(value int64) *int64 { return &value }
	kinds, err := compatible.Read(kindsNow)
	if err != nil {
		t.Fatal(err)
	}
	crd := kinds["storagebenchmarks.storagebench.dev"]
	for name, test := range map[string]struct {
		path   string
		change func(*schema)
		want   string // empty if the change is compatible
	}{
		"a field is removed": {"spec run clients", func(s *schema) { delete(s.Properties, "count") }, ".spec.run.clients.count: the field was removed"},
		"a field is renamed": {"status", func(s *schema) {
			s.Properties["verdicts"] = s.Properties["objectives"]
			delete(s.Properties, "objectives")
		}, ".status.objectives: the field was removed"},
		"a value is removed":      {"spec run clients spread", func(s *schema) { s.Enum = s.Enum[1:] }, ".spec.run.clients.spread: the value"},
		"values are named":        {"spec run targets * name", func(s *schema) { s.Enum = []apiextensionsv1.JSON{{Raw: []byte(`"a"`)}} }, ".spec.run.targets[].name: an enum now restricts the allowed values"},
		"a value is added":        {"spec run clients spread", func(s *schema) { s.Enum = append(s.Enum, apiextensionsv1.JSON{Raw: []byte(`"New"`)}) }, ""},
		"a field has to be given": {"spec run clients", func(s *schema) { s.Required = append(s.Required, "template") }, ".spec.run.clients.template: the field is now required"},
		"a new field has to be":   {"spec run", func(s *schema) { s.Properties["new"] = schema{Type: "string"}; s.Required = append(s.Required, "new") }, ".spec.run.new: the field is now required"},
		"a new field":             {"spec run", func(s *schema) { s.Properties["new"] = schema{Type: "string"} }, ""},
		"a new field with a default": {"spec run", func(s *schema) {
			s.Properties["new"] = schema{Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"x"`)}}
			s.Required = append(s.Required, "new")
		}, ""},
		"a field may be left out":    {"spec run", func(s *schema) { s.Required = nil }, ""},
		"a type is another":          {"spec run clients count", func(s *schema) { s.Type = "string" }, `.spec.run.clients.count: the type changed from "integer" to "string"`},
		"a maximum is lower":         {"spec run clients count", func(s *schema) { s.Maximum = number(*s.Maximum - 1) }, ".spec.run.clients.count: maximum changed"},
		"a maximum is higher":        {"spec run clients count", func(s *schema) { s.Maximum = number(*s.Maximum + 1) }, ""},
		"a minimum is higher":        {"spec run clients count", func(s *schema) { s.Minimum = number(*s.Minimum + 1) }, ".spec.run.clients.count: minimum changed"},
		"fewer items":                {"spec run targets", func(s *schema) { s.MaxItems = whole(*s.MaxItems - 1) }, ".spec.run.targets: maxItems changed"},
		"a shorter string":           {"spec run targets * name", func(s *schema) { s.MaxLength = whole(*s.MaxLength - 1) }, ".spec.run.targets[].name: maxLength changed"},
		"another pattern":            {"spec run targets * name", func(s *schema) { s.Pattern = "^x$" }, ".spec.run.targets[].name: the pattern changed"},
		"another default":            {"spec run clients spread", func(s *schema) { s.Default = &apiextensionsv1.JSON{Raw: []byte(`"Other"`)} }, ".spec.run.clients.spread: the default changed from"},
		"lists are merged otherwise": {"spec run targets", func(s *schema) { s.XListMapKeys, s.XListType = []string{"name"}, new("map") }, ".spec.run.targets: the merge strategy for lists changed"},
	} {
		t.Run(name, func(t *testing.T) {
			next := crd.DeepCopy()
			at(t, next, test.path, test.change)
			found := compatible.CRD(crd, next)
			switch {
			case test.want == "" && len(found) > 0:
				t.Errorf("a compatible change is reported as breaking: %v", found)
			case test.want != "" && (len(found) != 1 || !strings.Contains(found[0].String(), test.want)):
				t.Errorf("found %v, want %q", found, test.want)
			}
		})
	}
}

// TestBreaksOfVersions checks that the versions, scope, names and subresources of a kind are compared, too.
func TestBreaksOfVersions(t *testing.T) {
	kinds, err := compatible.Read(kindsNow)
	if err != nil {
		t.Fatal(err)
	}
	crd := kinds["storagebenchmarks.storagebench.dev"]
	for name, test := range map[string]struct {
		change func(*apiextensionsv1.CustomResourceDefinition)
		want   string
	}{
		"a version is removed":    {func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Versions[0].Name = "v1beta1" }, "version v1alpha1 was removed"},
		"a version is not served": {func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Versions[0].Served = false }, "no longer served"},
		"another scope":           {func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Scope = "Cluster" }, "the scope changed"},
		"a short name is removed": {func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Names.ShortNames = nil }, "the short name"},
		"no status":               {func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Versions[0].Subresources = nil }, "no longer a subresource"},
	} {
		next := crd.DeepCopy()
		test.change(next)
		if found := compatible.CRD(crd, next); len(found) == 0 || !strings.Contains(fmt.Sprint(found), test.want) {
			t.Errorf("%s: found %v, want %q", name, found, test.want)
		}
	}
	if _, err := compatible.Read(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder without kinds: %v", err)
	}
}

// TestNewRulesAreTold checks that new CEL rules are listed for review.
func TestNewRulesAreTold(t *testing.T) {
	kinds, err := compatible.Read(kindsNow)
	if err != nil {
		t.Fatal(err)
	}
	crd := kinds["storagebenchmarks.storagebench.dev"]
	if told := compatible.Rules(crd, crd); len(told) != 0 {
		t.Errorf("nothing is new, but reported: %v", told)
	}
	next := crd.DeepCopy()
	at(t, next, "spec run clients", func(s *apiextensionsv1.JSONSchemaProps) {
		s.XValidations = append(s.XValidations, apiextensionsv1.ValidationRule{Rule: "self.count > 3"})
	})
	if told := compatible.Rules(crd, next); len(told) != 1 || !strings.Contains(told[0], ".spec.run.clients: self.count > 3") {
		t.Errorf("told %v", told)
	}
}
