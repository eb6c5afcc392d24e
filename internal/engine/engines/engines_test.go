package engines_test

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine/engines"
)

// TestOf checks that each field of the API's Engine has an engine of its kind, which refuses an empty profile.
func TestOf(t *testing.T) {
	t.Parallel()
	kind := reflect.TypeFor[v1alpha1.Engine]()
	for i := range kind.NumField() {
		var spec v1alpha1.Engine
		reflect.ValueOf(&spec).Elem().Field(i).Set(reflect.New(kind.Field(i).Type.Elem()))
		load := engines.Of(&spec)
		if load.Kind == "" || load.Kind != spec.EngineKind() || load.SpansClients != spec.SpansClients() || len(load.Versions) == 0 {
			t.Errorf("%s: %+v", kind.Field(i).Name, load.Traits)
			continue
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
