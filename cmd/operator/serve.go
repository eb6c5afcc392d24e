package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/installation"
	"github.com/storagebench/storagebench/internal/leader"
	"github.com/storagebench/storagebench/internal/version"
)

const (
	// Limits on requests to the API server. They are high enough to create a run of a hundred clients within seconds,
	// and low enough that a looping controller does not flood the server. The API server's Priority and Fairness limits
	// also apply.
	requestsPerSecond = 100
	requestsBurst     = 300
	// shutdownTimeout limits how long a stopping operator waits for reconciles in progress. It is shorter than the
	// grace period of the Deployment.
	shutdownTimeout = 20 * time.Second
)

// serve runs the controllers until ctx is canceled or leadership is lost.
func serve(ctx context.Context, o *options) error {
	config, err := findCluster()
	if err != nil {
		return err
	}
	config.QPS, config.Burst = requestsPerSecond, requestsBurst
	config.UserAgent = "storagebench-operator/" + version.Version
	dependencies, err := prepare(ctx, config, o)
	if err != nil {
		return err
	}
	mgr, err := newManager(config, o, dependencies)
	if err != nil {
		return err
	}
	if err := setup(mgr, o, dependencies); err != nil {
		return err
	}
	dependencies.logReach()
	ctrl.Log.Info("Starting", "version", version.Version, "namespace", o.namespace, "identity", dependencies.candidate.Identity(),
		"agentImage", o.agentImage, "fioImage", o.fioImage, "iorImage", o.iorImage)
	if local := o.unpublished(); len(local) > 0 {
		ctrl.Log.Info("Using images that are not in a registry: runs that need them start only on nodes where the images are loaded; "+
			imageRemedy, local...)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-dependencies.candidate.Lost():
			cancel(errTakenOver)
		case <-ctx.Done():
		}
	}()
	// Start releases the leader's Lease before it returns. The process must then exit, because another operator may
	// already be the leader.
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run the controllers: %w", err)
	}
	if errors.Is(context.Cause(ctx), errTakenOver) {
		return errTakenOver
	}
	return nil
}

// findCluster returns the configuration for the API server from the first available source: --kubeconfig, $KUBECONFIG,
// the pod's service account, or ~/.kube/config.
func findCluster() (*rest.Config, error) {
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w: run in a pod, or set --kubeconfig", err)
	}
	return config, nil
}

// errTakenOver makes this process exit if another operator became the leader while this process was paused.
var errTakenOver = errors.New("another operator became leader while this one was paused; restarting as a standby")

// prepare does everything that must succeed before any controller starts, so that the operator exits with a one-line
// error if the installation is faulty.
func prepare(ctx context.Context, config *rest.Config, o *options) (dependencies, error) {
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return dependencies{}, fmt.Errorf("create a client: %w", err)
	}
	if err := installation.Kinds(ctx, api.Discovery()); err != nil {
		return dependencies{}, err
	}
	master, err := installation.Master(ctx, api.CoreV1(), o.namespace)
	if err != nil {
		return dependencies{}, err
	}
	id, err := installation.ID(ctx, api.CoreV1(), o.namespace)
	if err != nil {
		return dependencies{}, err
	}
	candidate, err := leader.New(config, o.namespace)
	if err != nil {
		return dependencies{}, err
	}
	made := dependencies{master: master, installation: id, candidate: candidate}
	if len(o.namespaces) > 0 {
		made.reviews = api.AuthorizationV1()
		if made.reach, err = installation.FindReach(ctx, made.reviews, o.namespaces); err != nil {
			return dependencies{}, err
		}
	}
	return made, nil
}

func newManager(config *rest.Config, o *options, p dependencies) (ctrl.Manager, error) {
	types := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(types); err != nil {
			return nil, fmt.Errorf("register the kinds: %w", err)
		}
	}
	leaseDuration, renewDeadline, retryPeriod := leader.LeaseDuration, leader.RenewDeadline, leader.RetryPeriod
	shutdown := shutdownTimeout
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                              types,
		Cache:                               cacheOptions(p.reach.Namespaces),
		Client:                              client.Options{Cache: &client.CacheOptions{DisableFor: readDirectly()}, FieldOwner: "storagebench-operator"},
		Metrics:                             o.metricsServer(),
		HealthProbeBindAddress:              o.health,
		PprofBindAddress:                    o.pprof,
		LeaderElection:                      true,
		LeaderElectionID:                    leader.LeaseName,
		LeaderElectionResourceLockInterface: p.candidate.Lock(),
		LeaderElectionReleaseOnCancel:       true,
		LeaseDuration:                       &leaseDuration,
		RenewDeadline:                       &renewDeadline,
		RetryPeriod:                         &retryPeriod,
		GracefulShutdownTimeout:             &shutdown,
	})
	if err != nil {
		return nil, fmt.Errorf("create the manager: %w", err)
	}
	// A standby operator also reports that it is healthy and ready. Only the kubelet uses these checks.
	for name, add := range map[string]func(string, healthz.Checker) error{"healthz": mgr.AddHealthzCheck, "readyz": mgr.AddReadyzCheck} {
		if err := add(name, healthz.Ping); err != nil {
			return nil, fmt.Errorf("add the health check %s: %w", name, err)
		}
	}
	return mgr, nil
}
