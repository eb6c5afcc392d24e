package storagebenchmark

import (
	"context"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/test/controlplane"
)

// clusterConfig and cluster connect to the API server of this package as its administrator. They are nil with -short.
var (
	clusterConfig *rest.Config
	cluster       client.WithWatch
	fullScheme    = controlplane.Scheme()
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	controlplane.Main(m, func(administrator *rest.Config) (int, error) { return runWith(m, administrator) })
}

func runWith(m *testing.M, administrator *rest.Config) (code int, err error) {
	clusterConfig = administrator
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
