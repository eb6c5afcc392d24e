package benchmarkrun

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// TestRefusedStatus checks that a run fails with the reason, and stores no result, if the API server refuses the
// result. Here a result has more operations than the API allows.
func TestRefusedStatus(t *testing.T) {
	t.Parallel()
	w := newQuietWorld(t)
	w.runPods()
	w.newClient = func(config *rest.Config, options client.Options) (client.Client, error) {
		inner, err := client.NewWithWatch(config, options)
		if err != nil {
			return nil, err
		}
		return interceptor.NewClient(inner, interceptor.Funcs{
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
				if run, is := object.(*v1alpha1.BenchmarkRun); is && len(run.Status.Phases) > 0 && len(run.Status.Phases[0].Targets) > 0 {
					target := &run.Status.Phases[0].Targets[0]
					target.Operations = slices.Repeat(target.Operations[:1], 8)
				}
				return c.SubResource(sub).Patch(ctx, object, patch, options...)
			},
		}), nil
	}
	w.operate()
	t.Cleanup(func() { w.stop() })
	run := w.start(small())
	w.until(run, "over", over(run))
	failed := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionFailed)
	if failed == nil || failed.Reason != v1alpha1.ReasonInternalError || !strings.Contains(failed.Message, "operations: Too many: 8: must have at most 7 items") ||
		len(run.Status.Phases) > 0 {
		t.Errorf("%+v, phases %+v", failed, run.Status.Phases)
	}
	w.wait("the agents have not removed the data", func() bool {
		entries, err := os.ReadDir(w.directory)
		must(t, err)
		return len(entries) == 0
	})
	w.clean()
}
