package newestrun

import (
	"context"
	"time"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/metrics"
)

// cacheTimeout limits how long a scrape waits for the cache to sync. Once the cache has synced, reading from it does
// not wait.
const cacheTimeout = 2 * time.Second

// Facts returns the function that a metrics.Collector calls at each scrape. It provides the benchmarks and runs in the
// manager's cache, and the live runs that the function live returns. While this process is not the leader, it provides
// nothing. interval is the scrape interval of the observations.
func (k *Keeper) Facts(
	mgr ctrl.Manager, version string, interval time.Duration, live func() []metrics.LiveRun,
) func() metrics.Facts {
	elected := mgr.Elected()
	return func() metrics.Facts {
		facts := metrics.Facts{Version: version, Interval: interval, Results: k.Results}
		select {
		case <-elected:
		default:
			return facts
		}
		ctx, cancel := context.WithTimeout(context.Background(), cacheTimeout)
		defer cancel()
		var benchmarks v1alpha1.StorageBenchmarkList
		var runs v1alpha1.BenchmarkRunList
		for _, list := range []client.ObjectList{&benchmarks, &runs} {
			// Skip the deep copy, because the objects are only read.
			if err := mgr.GetCache().List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
				klog.FromContext(ctx).Error(err, "Failed to list objects for metrics")
				return facts
			}
		}
		facts.Leading = true
		for i := range benchmarks.Items {
			facts.Benchmarks = append(facts.Benchmarks, &benchmarks.Items[i])
		}
		for i := range runs.Items {
			facts.Runs = append(facts.Runs, &runs.Items[i])
		}
		facts.Live = live()
		return facts
	}
}
