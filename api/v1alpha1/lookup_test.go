package v1alpha1_test

import (
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

func TestWorkloadOf(t *testing.T) {
	run := &v1alpha1.RunSpec{Workload: &v1alpha1.Workload{}, Phases: []v1alpha1.Phase{
		{Name: "runs"},
		{Name: "own", Workload: &v1alpha1.Workload{}, TargetWorkloads: []v1alpha1.TargetWorkload{{Target: "b"}}},
	}}
	own := run.Phase("own")
	for _, test := range []struct {
		phase, target string
		want          *v1alpha1.Workload
	}{
		{"runs", "a", run.Workload}, {"own", "a", own.Workload}, {"own", "b", &own.TargetWorkloads[0].Workload}, {"none", "a", nil},
	} {
		if got := run.WorkloadOf(run.Phase(test.phase), test.target); got != test.want {
			t.Errorf("%s on %s: %p, want %p", test.phase, test.target, got, test.want)
		}
	}
	var none *v1alpha1.RunSpec
	if got := none.WorkloadOf(none.Phase("own"), "a"); got != nil {
		t.Errorf("%+v of no run", got)
	}
}
