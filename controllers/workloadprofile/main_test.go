package workloadprofile

import (
	"context"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/storagebench/storagebench/test/controlplane"
)

// cluster is a client for the API server of this package, on which the controllers run. It is nil with -short.
var cluster client.Client

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	controlplane.Main(m, func(administrator *rest.Config) (int, error) { return runWith(m, administrator) })
}

func runWith(m *testing.M, administrator *rest.Config) (code int, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended, err := conduct(ctx, administrator)
	if err != nil {
		cancel()
		return 1, err
	}
	code = m.Run()
	cancel()
	return code, <-ended
}

// conduct starts the controllers, and sets cluster to a client that reads without a cache.
func conduct(ctx context.Context, config *rest.Config) (<-chan error, error) {
	types := controlplane.Scheme()
	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: types, Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		return nil, err
	}
	if err := Setup(mgr, true); err != nil {
		return nil, err
	}
	if cluster, err = client.New(config, client.Options{Scheme: types}); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	return ended, nil
}

// needsCluster skips a test that cannot run with -short.
func needsCluster(t *testing.T) {
	t.Helper()
	if cluster == nil {
		t.Skip("needs an API server, which -short leaves out")
	}
}
