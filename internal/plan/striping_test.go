package plan_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/test/builders"
)

func striped(count *int32, size string) *v1alpha1.RunSpec {
	lustre := &v1alpha1.LustreStriping{StripeCount: count}
	if size != "" {
		quantity := resource.MustParse(size)
		lustre.StripeSize = &quantity
	}
	return builders.Benchmark("b").Target("a").Target("b").Prepare("lay").Steady("write", "1m").Mutate(func(r *v1alpha1.RunSpec) {
		r.Targets[1].Lustre = lustre
	}).Run()
}

func TestStriping(t *testing.T) {
	all := int32(-1)
	planned, problems := plan.Make(striped(&all, "4Mi"), 1)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, step := range planned.Steps {
		if len(step.Striping) != 1 || step.Striping["b"] != (plan.Striping{Count: -1, SizeBytes: 4 << 20}) {
			t.Errorf("step %s: %v", step.ID, step.Striping)
		}
	}
	// Files keep their striping, so a layout with another striping, or with none, is a different layout.
	same, _ := plan.Make(striped(&all, "4096Ki"), 1)
	other, _ := plan.Make(striped(&all, "1Mi"), 1)
	plain := striped(&all, "1Mi")
	plain.Targets[1].Lustre = nil
	none, _ := plan.Make(plain, 1)
	if same.DatasetHash != planned.DatasetHash || other.DatasetHash == planned.DatasetHash || none.DatasetHash == planned.DatasetHash {
		t.Errorf("layouts %s, %s, %s, %s", planned.DatasetHash, same.DatasetHash, other.DatasetHash, none.DatasetHash)
	}
}

func TestStripingIsRefused(t *testing.T) {
	none, many, below := int32(0), int32(2001), int32(-2)
	for _, test := range []struct {
		run   *v1alpha1.RunSpec
		words string
	}{
		{striped(&none, ""), "spec.run.targets[1].lustre.stripeCount"},
		{striped(&many, ""), "spec.run.targets[1].lustre.stripeCount"},
		{striped(&below, ""), "spec.run.targets[1].lustre.stripeCount"},
		{striped(nil, "100Ki"), "spec.run.targets[1].lustre.stripeSize"},
		{striped(nil, "4Gi"), "spec.run.targets[1].lustre.stripeSize"},
		{striped(nil, "0"), "spec.run.targets[1].lustre.stripeSize"},
		{striped(nil, ""), "set stripeCount, stripeSize or both"},
	} {
		if _, problems := plan.Make(test.run, 1); len(problems) == 0 || !strings.Contains(problems.ToAggregate().Error(), test.words) {
			t.Errorf("%+v: %v, want %s", test.run.Targets[1].Lustre, problems, test.words)
		}
	}
}

// The least and the greatest values are accepted.
func TestStripingAtTheBounds(t *testing.T) {
	one, most := int32(1), int32(2000)
	for _, run := range []*v1alpha1.RunSpec{striped(&one, "64Ki"), striped(&most, "4194240Ki")} {
		if _, problems := plan.Make(run, 1); len(problems) > 0 {
			t.Errorf("%+v: %v", run.Targets[1].Lustre, problems)
		}
	}
}
