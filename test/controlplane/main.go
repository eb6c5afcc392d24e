package controlplane

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Main is the body of TestMain in a package whose tests share one API server. It starts the server, calls run, and
// stops the server. run runs the tests and returns their exit code. With -short, Main runs the tests without a server.
func Main(m *testing.M, run func(administrator *rest.Config) (code int, err error)) {
	flag.Parse()
	if testing.Short() {
		os.Exit(m.Run())
	}
	plane, err := Start(context.Background(), os.Stderr)
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code, err := run(plane.Config)
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if err := plane.Stop(); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// Scheme returns a scheme with the kinds of Kubernetes and our own.
func Scheme() *runtime.Scheme {
	kinds := runtime.NewScheme()
	utilruntime.Must(scheme.AddToScheme(kinds))
	utilruntime.Must(v1alpha1.AddToScheme(kinds))
	return kinds
}
