package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/dynamic"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// The API resources of storagebench.
var (
	benchmarkResource      = v1alpha1.GroupVersion.WithResource("storagebenchmarks")
	runResource            = v1alpha1.GroupVersion.WithResource("benchmarkruns")
	profileResource        = v1alpha1.GroupVersion.WithResource("workloadprofiles")
	clusterProfileResource = v1alpha1.GroupVersion.WithResource("clusterworkloadprofiles")
)

// clusterFlags holds the flags that every kubectl plugin has: cluster, namespace, user.
type clusterFlags struct {
	config *genericclioptions.ConfigFlags
}

// newClusterFlags adds the flags of kubectl plugins to a command.
func newClusterFlags(command *cobra.Command) *clusterFlags {
	flags := &clusterFlags{config: genericclioptions.NewConfigFlags(true)}
	added := pflag.NewFlagSet("cluster", pflag.ContinueOnError)
	flags.config.AddFlags(added)
	added.VisitAll(func(flag *pflag.Flag) {
		// All flags of kubectl work, but help shows only the common ones.
		flag.Hidden = !slices.Contains([]string{"kubeconfig", "context", "namespace"}, flag.Name)
	})
	command.Flags().AddFlagSet(added)
	return flags
}

// cluster is a connection to a cluster, and the namespace to use.
type cluster struct {
	client    dynamic.Interface
	namespace string
}

// connect reads the configuration as kubectl does. It does not contact the cluster.
func (f *clusterFlags) connect() (*cluster, error) {
	config, err := f.config.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w; %s", err, chooseCluster)
	}
	namespace, _, err := f.config.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w; %s", err, chooseCluster)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	return &cluster{client: client, namespace: namespace}, nil
}

// stopSignals returns the signals that stop the program. SIGHUP is not one of them if it was ignored when the program
// started, for example by nohup.
func stopSignals() []os.Signal {
	all := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// untilSignal returns a context that is cancelled when the program receives one of the stopSignals.
func untilSignal(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, stopSignals()...)
}

// get reads an object and converts it to its Go type.
func (c *cluster) get(ctx context.Context, resource schema.GroupVersionResource, name string, into any) error {
	found, err := c.client.Resource(resource).Namespace(c.namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return explained(err)
	}
	return decode(found, into)
}

func decode(from *unstructured.Unstructured, into any) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(from.Object, into); err != nil {
		return fmt.Errorf("read %s %s: %w", from.GetKind(), from.GetName(), err)
	}
	return nil
}

// errNotInstalled is returned if the API server does not serve the kinds of storagebench.
var errNotInstalled = errors.New("the cluster has no kind StorageBenchmark: install the operator first (docs/install.md)")

// chooseCluster is a hint on how to choose another cluster.
const chooseCluster = "choose a cluster with --kubeconfig or --context; run --local needs no cluster"

// explained returns errNotInstalled if the API server does not serve the requested kind. If the server does not answer,
// explained adds the address and the remedy to the error. It returns other errors unchanged.
func explained(err error) error {
	var request *url.Error
	if errors.As(err, &request) && !errors.Is(err, context.Canceled) {
		address := request.URL
		if parsed, parseErr := url.Parse(request.URL); parseErr == nil {
			address = parsed.Scheme + "://" + parsed.Host
		}
		return fmt.Errorf("cannot reach the cluster at %s: %w; %s", address, request.Err, chooseCluster)
	}
	var status apierrors.APIStatus
	if apierrors.IsNotFound(err) && errors.As(err, &status) {
		switch details := status.Status().Details; {
		case details == nil || details.Name == "":
			return errNotInstalled
		case details.Kind == "namespaces":
			return fmt.Errorf("namespace %q does not exist: create it, or choose another with --namespace", details.Name)
		}
	}
	return err
}

// runOrBenchmark returns the BenchmarkRun with the given name. If there is none, it returns the StorageBenchmark with
// that name instead, and a nil BenchmarkRun.
func (c *cluster) runOrBenchmark(ctx context.Context, name string) (*v1alpha1.BenchmarkRun, *v1alpha1.StorageBenchmark, error) {
	run, benchmark := &v1alpha1.BenchmarkRun{}, &v1alpha1.StorageBenchmark{}
	err := c.get(ctx, runResource, name, run)
	switch {
	case err == nil:
		return run, nil, nil
	case !apierrors.IsNotFound(err):
		return nil, nil, err
	}
	err = c.get(ctx, benchmarkResource, name, benchmark)
	switch {
	case err == nil:
		return nil, benchmark, nil
	case apierrors.IsNotFound(err):
		return nil, nil, fmt.Errorf("namespace %s has neither a BenchmarkRun nor a StorageBenchmark %q: see kubectl storagebench list -A", c.namespace, name)
	}
	return nil, nil, err
}

// findRun returns the BenchmarkRun with the given name. If there is none, it returns the StorageBenchmark with that
// name, together with its live run or, if no run is live, its last one.
func (c *cluster) findRun(ctx context.Context, name string) (*v1alpha1.BenchmarkRun, *v1alpha1.StorageBenchmark, error) {
	run, benchmark, err := c.runOrBenchmark(ctx, name)
	if err != nil || run != nil {
		return run, nil, err
	}
	run = &v1alpha1.BenchmarkRun{}
	switch status := &benchmark.Status; {
	case status.ActiveRun != nil && status.ActiveRun.UID != "":
		err = c.get(ctx, runResource, status.ActiveRun.Name, run)
	case status.LastRun != nil:
		err = c.get(ctx, runResource, status.LastRun.Name, run)
	default:
		return nil, nil, fmt.Errorf("StorageBenchmark %s has no run yet: %s", name, waitingFor(benchmark))
	}
	if apierrors.IsNotFound(err) {
		return nil, nil, fmt.Errorf("the last run of StorageBenchmark %s was deleted, for example by kubectl storagebench cancel: to choose an earlier run, see kubectl storagebench list %s -n %s",
			name, name, c.namespace)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the run of StorageBenchmark %s: %w", name, err)
	}
	return run, benchmark, nil
}

// waitingFor returns the reason why a benchmark has not started its first or next run, as stated by its conditions. It
// skips conditions that state the verdict on the last run, because a verdict does not prevent another run. It also
// skips conditions with status False, unless their reason is RunNotCreated. After a verdict, only the condition Running
// has this reason, with status False.
func waitingFor(benchmark *v1alpha1.StorageBenchmark) string {
	for _, kind := range []string{v1alpha1.ConditionStalled, v1alpha1.ConditionReconciling, v1alpha1.ConditionRunning, v1alpha1.ConditionReady} {
		for i := range benchmark.Status.Conditions {
			condition := &benchmark.Status.Conditions[i]
			states := condition.Status != metav1.ConditionFalse || condition.Reason == v1alpha1.ReasonRunNotCreated
			if condition.Type == kind && condition.Message != "" && states && !verdictOf(benchmark.Status.LastRun, condition) {
				if condition.Reason == v1alpha1.ReasonNotJudged {
					return condition.Message // omit the reason NotJudged, which only means that there is no verdict yet
				}
				return condition.Reason + ": " + condition.Message
			}
		}
	}
	if benchmark.Status.ObservedGeneration < 0 || len(benchmark.Status.Conditions) == 0 {
		return "the operator has not processed the benchmark yet; check that the operator is running: kubectl get pods -n storagebench-system"
	}
	if benchmark.Status.LastRun != nil {
		return "the operator has not started the next run yet"
	}
	return "no run was requested"
}
