package workloadprofile

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/controlplane"
)

// cluster is the client of the one API server of this package, on which the controllers run; nil with
// -short.
var cluster client.Client

func TestMain(m *testing.M) {
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	if testing.Short() {
		os.Exit(m.Run())
	}
	code, err := runWithCluster(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runWithCluster(m *testing.M) (code int, err error) {
	plane, err := controlplane.Start(context.Background(), os.Stderr)
	if err != nil {
		return 1, err
	}
	defer func() {
		if stopErr := plane.Stop(); err == nil {
			err = stopErr
		}
	}()
	ctx, cancel := context.WithCancel(context.Background())
	ended, err := conduct(ctx, plane.Config)
	if err != nil {
		cancel()
		return 1, err
	}
	code = m.Run()
	cancel()
	return code, <-ended
}

// conduct runs the controllers, and makes cluster a client that reads without a cache.
func conduct(ctx context.Context, config *rest.Config) (<-chan error, error) {
	types := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(types); err != nil {
			return nil, err
		}
	}
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
