package main

import (
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/storagebench/storagebench/controllers/benchmarkrun"
	"github.com/storagebench/storagebench/controllers/catalog"
	"github.com/storagebench/storagebench/controllers/newestrun"
	"github.com/storagebench/storagebench/controllers/storagebenchmark"
	"github.com/storagebench/storagebench/controllers/workloadprofile"
	"github.com/storagebench/storagebench/internal/identity"
	"github.com/storagebench/storagebench/internal/leader"
	runmetrics "github.com/storagebench/storagebench/internal/metrics"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/internal/version"
)

// parts are what controllers need beside the manager.
type parts struct {
	master       identity.Master
	installation string
	candidate    *leader.Candidate
}

// setup adds the controllers to the manager.
func setup(mgr ctrl.Manager, o *options, p parts) error {
	if err := workloadprofile.Setup(mgr); err != nil {
		return err
	}
	limits, err := catalog.New(mgr.GetAPIReader(), mgr.GetEventRecorder("storagebench"), o.namespace, o.limits)
	if err != nil {
		return err
	}
	if err := metrics.Registry.Register(limits.Metric()); err != nil {
		return fmt.Errorf("register the metric of the catalog of limits: %w", err)
	}
	if err := mgr.Add(limits); err != nil {
		return fmt.Errorf("add the catalog of limits: %w", err)
	}
	if err := storagebenchmark.Setup(mgr, storagebenchmark.Options{Catalog: limits.Current}); err != nil {
		return err
	}
	live := &benchmarkrun.Live{}
	results, err := newestrun.Setup(mgr)
	if err != nil {
		return err
	}
	collector := runmetrics.NewCollector(results.Facts(mgr, version.Version, live.Runs))
	if err := metrics.Registry.Register(collector); err != nil {
		return fmt.Errorf("register the metrics of benchmarks: %w", err)
	}
	return benchmarkrun.Setup(mgr, benchmarkrun.Options{
		Live: live,
		Settings: objects.Settings{
			AgentImage:        o.agentImage,
			FioImage:          o.fioImage,
			IORImage:          o.iorImage,
			OperatorNamespace: o.namespace,
		},
		Master:       p.master,
		Installation: p.installation,
		Epoch:        p.candidate.Epoch,
		Catalog:      limits.Current,

		SharedQueues: o.sharedQueues,
	})
}
