package plan_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/phasekind"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/test/builders"
)

// TestKinds: a kind of phase either is refused as not built, or has a file in phasekind and becomes steps, or problems
// of its own.
func TestKinds(t *testing.T) {
	t.Parallel()
	phase := reflect.TypeFor[v1alpha1.Phase]()
	kinds := 0
	for i := range phase.NumField() {
		made := v1alpha1.Phase{Name: "x"}
		if f := phase.Field(i); f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct {
			reflect.ValueOf(&made).Elem().Field(i).Set(reflect.New(f.Type.Elem()))
		}
		if made.Kind() == "" {
			continue
		}
		kinds++
		planned, problems := plan.Make(builders.Benchmark("b").Target("a").Phase(made).Run(), 1)
		refused := strings.Contains(fmt.Sprint(problems), "is not built yet")
		if built := phasekind.Of(made.Kind()).Label != ""; built == refused {
			t.Errorf("%s: in phasekind is %t, refused is %t", made.Kind(), built, refused)
		}
		if !refused && len(planned.Steps) == 0 && len(problems) == 0 {
			t.Errorf("%s becomes nothing", made.Kind())
		}
	}
	if kinds < 10 {
		t.Errorf("only %d kinds were found", kinds)
	}
}
