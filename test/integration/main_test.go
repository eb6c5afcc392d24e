package integration

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/controlplane"
)

// cluster is the client of the one API server of this package, and administrator how to reach it; nil with -short.
var (
	cluster       client.Client
	administrator *rest.Config
)

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		os.Exit(m.Run())
	}
	os.Exit(runWithCluster(m))
}

func runWithCluster(m *testing.M) int {
	plane, err := controlplane.Start(context.Background(), os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := plane.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	administrator = plane.Config
	types := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(types); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	if cluster, err = client.New(plane.Config, client.Options{Scheme: types}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// needsCluster skips a test that cannot run with -short.
func needsCluster(t *testing.T) {
	t.Helper()
	if cluster == nil {
		t.Skip("needs an API server, which -short leaves out")
	}
}
