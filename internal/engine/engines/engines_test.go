package engines_test

import (
	"os"
	"reflect"
	"regexp"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine/engines"
)

// TestOf checks that each field of the API's Engine has an engine that rejects an empty profile, and that the linter
// forbids other packages to access these fields.
func TestOf(t *testing.T) {
	t.Parallel()
	settings, err := os.ReadFile("../../../.golangci.yml")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`- pattern: (\^v1alpha1.*Engine.*)`).FindSubmatch(settings)
	if found == nil {
		t.Fatal(".golangci.yml has no pattern for the engines")
	}
	forbidden := regexp.MustCompile(string(found[1]))
	kind := reflect.TypeFor[v1alpha1.Engine]()
	for i := range kind.NumField() {
		var spec v1alpha1.Engine
		reflect.ValueOf(&spec).Elem().Field(i).Set(reflect.New(kind.Field(i).Type.Elem()))
		load := engines.Of(&spec)
		if load.Kind == "" || load.Kind != spec.EngineKind() || load.SpansClients != spec.SpansClients() || len(load.Versions) == 0 {
			t.Errorf("%s: %+v", kind.Field(i).Name, load.Traits)
			continue
		}
		for _, name := range []string{"v1alpha1.Engine." + kind.Field(i).Name, "v1alpha1.Engine" + kind.Field(i).Name} {
			if !forbidden.MatchString(name) {
				t.Errorf(".golangci.yml does not forbid %s outside the engines: add it to %s", name, forbidden)
			}
		}
		if problems := load.Validate(field.NewPath("spec")); len(problems) == 0 {
			t.Errorf("%s accepts an empty profile", load.Kind)
		}
	}
	if load := engines.Of(&v1alpha1.Engine{}); load.Kind != "" || load.Engine != nil {
		t.Errorf("no engine: %+v", load)
	}
	if load := engines.Of(nil); load.Kind != "" {
		t.Errorf("nil: %+v", load)
	}
}
