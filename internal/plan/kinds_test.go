package plan_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/phasekind"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/test/builders"
)

// TestKinds checks that every phase kind has a file in phasekind, and is planned as steps or refused for problems of
// its own.
func TestKinds(t *testing.T) {
	t.Parallel()
	phase := reflect.TypeFor[v1alpha1.Phase]()
	kinds, without := 0, builders.Benchmark("b").Target("a").Phase(v1alpha1.Phase{Name: "x"}).Run()
	_, problems := plan.Make(without, 1)
	listed := problems.ToAggregate().Error()
	for i := range phase.NumField() {
		made := v1alpha1.Phase{Name: "x"}
		if f := phase.Field(i); f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct {
			reflect.ValueOf(&made).Elem().Field(i).Set(reflect.New(f.Type.Elem()))
		}
		if made.Kind() == "" {
			continue
		}
		kinds++
		run, problems := plan.Resolve(builders.Benchmark("b").Target("a").Phase(made).Run(), nil)
		if len(problems) > 0 {
			t.Fatal(problems.ToAggregate())
		}
		planned, problems := plan.Make(run, 1)
		if phasekind.Of(made.Kind()).Label == "" {
			t.Errorf("%s is missing in phasekind", made.Kind())
		}
		if name := phasekind.Name(made.Kind()); !strings.Contains(listed, name) {
			t.Errorf("the problem of a phase without a kind does not list %s: %s", name, listed)
		}
		if len(planned.Steps) == 0 && len(problems) == 0 {
			t.Errorf("%s becomes nothing", made.Kind())
		}
	}
	if kinds < 7 {
		t.Errorf("only %d kinds were found", kinds)
	}
}
