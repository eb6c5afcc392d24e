package storagebenchmark

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

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/controlplane"
)

// The API server of this package, for its administrator; nil with -short.
var (
	clusterConfig *rest.Config
	cluster       client.WithWatch
	fullScheme    = runtime.NewScheme()
)

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
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(fullScheme); err != nil {
			return 1, err
		}
	}
	clusterConfig = plane.Config
	if cluster, err = client.NewWithWatch(clusterConfig, client.Options{Scheme: fullScheme}); err != nil {
		return 1, err
	}
	if err := grantRights(context.Background()); err != nil {
		return 1, err
	}
	code = m.Run()
	if kubectlFolder != "" {
		err = os.RemoveAll(kubectlFolder)
	}
	return code, err
}
