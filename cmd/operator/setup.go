package main

import (
	"fmt"

	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/storagebench/storagebench/controllers/benchmarkrun"
	"github.com/storagebench/storagebench/controllers/catalog"
	"github.com/storagebench/storagebench/controllers/library"
	"github.com/storagebench/storagebench/controllers/newestrun"
	"github.com/storagebench/storagebench/controllers/storagebenchmark"
	"github.com/storagebench/storagebench/controllers/workloadprofile"
	"github.com/storagebench/storagebench/internal/identity"
	"github.com/storagebench/storagebench/internal/installation"
	"github.com/storagebench/storagebench/internal/leader"
	runmetrics "github.com/storagebench/storagebench/internal/metrics"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/internal/prometheus"
	"github.com/storagebench/storagebench/internal/queue"
	"github.com/storagebench/storagebench/internal/version"
)

// dependencies holds the values that the controllers need in addition to the manager.
type dependencies struct {
	master       identity.Master
	installation string
	candidate    *leader.Candidate
	// reach lists what the operator may read, according to access reviews at startup. It is empty if all namespaces
	// are watched.
	reach   installation.Reach
	reviews authorizationclient.SelfSubjectAccessReviewsGetter
}

// setup adds the controllers to the manager.
func setup(mgr ctrl.Manager, o *options, p dependencies) error {
	someNamespaces := len(o.namespaces) > 0
	// If several operators each watch some of the namespaces, it is undefined which of them would validate
	// ClusterWorkloadProfiles. Therefore, only an operator that watches all namespaces validates them.
	if err := workloadprofile.Setup(mgr, !someNamespaces); err != nil {
		return err
	}
	if someNamespaces {
		if err := mgr.Add(&reachWatch{asked: o.namespaces, known: p.reach, reviews: p.reviews}); err != nil {
			return fmt.Errorf("add the check for changed read permissions: %w", err)
		}
	}
	if o.profileLibrary && !someNamespaces {
		err := mgr.Add(&library.Applier{
			Reader: mgr.GetAPIReader(), Writer: mgr.GetClient(), Events: mgr.GetEventRecorder("storagebench"), Version: version.Version,
		})
		if err != nil {
			return fmt.Errorf("add the profile library: %w", err)
		}
	}
	limits, err := catalog.New(mgr.GetAPIReader(), mgr.GetEventRecorder("storagebench"), o.namespace, o.limits)
	if err != nil {
		return err
	}
	if err := metrics.Registry.Register(limits.Metric()); err != nil {
		return fmt.Errorf("register the metric of the limits catalog: %w", err)
	}
	if err := mgr.Add(limits); err != nil {
		return fmt.Errorf("add the limits catalog: %w", err)
	}
	if err := storagebenchmark.Setup(mgr, storagebenchmark.Options{Catalog: limits.Current, PriorityClass: o.priorityClass,
		NoClusterProfiles: !p.reach.ClusterProfiles()}); err != nil {
		return err
	}
	live := &benchmarkrun.Live{}
	results, err := newestrun.Setup(mgr)
	if err != nil {
		return err
	}
	collector := runmetrics.NewCollector(results.Facts(mgr, version.Version, o.prometheus.Interval, live.Runs))
	if err := metrics.Registry.Register(collector); err != nil {
		return fmt.Errorf("register the benchmark metrics: %w", err)
	}
	var observations *prometheus.Config
	if o.prometheus.URL != "" {
		observations = &o.prometheus
	}
	return benchmarkrun.Setup(mgr, benchmarkrun.Options{
		Live: live,
		Settings: objects.Settings{
			AgentImage:        o.agentImage,
			FioImage:          o.fioImage,
			IORImage:          o.iorImage,
			OperatorNamespace: o.namespace,
			PullSecrets:       o.pullSecrets,
			ClientLabels:      o.clientLabels,
		},
		Master:       p.master,
		Installation: p.installation,
		Epoch:        p.candidate.Epoch,
		Catalog:      limits.Current,

		SharedQueues:  o.sharedQueues,
		Namespaces:    p.reach.Namespaces,
		PriorityClass: o.priorityClass,
		LossTimeout:   o.lossTimeout,
		ParallelRuns:  o.parallelRuns,
		Prometheus:    observations,
		Limits:        queue.Limits{Clients: o.maxClients, PerNamespace: o.maxClientsPerNamespace},
	})
}
