package integration

import (
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/test/controlplane"
)

// cluster is the client of the API server that the tests of this package share, and administrator its configuration.
// Both are nil with -short.
var (
	cluster       client.Client
	administrator *rest.Config
)

func TestMain(m *testing.M) {
	controlplane.Main(m, func(config *rest.Config) (code int, err error) {
		administrator = config
		if cluster, err = client.New(config, client.Options{Scheme: controlplane.Scheme()}); err != nil {
			return 1, err
		}
		return m.Run(), nil
	})
}

// needsCluster skips a test that cannot run with -short.
func needsCluster(t *testing.T) {
	t.Helper()
	if cluster == nil {
		t.Skip("needs an API server, which -short leaves out")
	}
}
