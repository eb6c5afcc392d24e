package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

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

// The resources of this project.
var (
	benchmarkResource      = v1alpha1.GroupVersion.WithResource("storagebenchmarks")
	runResource            = v1alpha1.GroupVersion.WithResource("benchmarkruns")
	profileResource        = v1alpha1.GroupVersion.WithResource("workloadprofiles")
	clusterProfileResource = v1alpha1.GroupVersion.WithResource("clusterworkloadprofiles")
)

// clusterFlags are those that every plugin of kubectl has: which cluster, which namespace, who asks.
type clusterFlags struct {
	config *genericclioptions.ConfigFlags
}

// newClusterFlags adds them to a verb.
func newClusterFlags(command *cobra.Command) *clusterFlags {
	flags := &clusterFlags{config: genericclioptions.NewConfigFlags(true)}
	added := pflag.NewFlagSet("cluster", pflag.ContinueOnError)
	flags.config.AddFlags(added)
	added.VisitAll(func(flag *pflag.Flag) {
		// All of them work; help shows those that people use.
		flag.Hidden = !slices.Contains([]string{"kubeconfig", "context", "namespace"}, flag.Name)
	})
	command.Flags().AddFlagSet(added)
	return flags
}

// cluster is a connection to one.
type cluster struct {
	client    dynamic.Interface
	namespace string
}

// connect reads the configuration as kubectl does. Nothing is asked of the cluster yet.
func (f *clusterFlags) connect() (*cluster, error) {
	const remedy = "is there a cluster? Choose one with --kubeconfig or --context; run --local needs none"
	config, err := f.config.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("read the configuration of kubectl: %w; %s", err, remedy)
	}
	namespace, _, err := f.config.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, fmt.Errorf("read the configuration of kubectl: %w; %s", err, remedy)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	return &cluster{client: client, namespace: namespace}, nil
}

// get reads an object into one of ours.
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

// errNotInstalled is what a cluster without our kinds means.
var errNotInstalled = errors.New("the cluster does not know StorageBenchmark: install the operator first (kubectl apply -k config/default)")

// explained gives an answer of the API server its remedy.
func explained(err error) error {
	var status apierrors.APIStatus
	if apierrors.IsNotFound(err) && errors.As(err, &status) {
		if details := status.Status().Details; details == nil || details.Name == "" {
			return errNotInstalled
		}
	}
	return err
}

// findRun gives the BenchmarkRun of that name; or else, of the StorageBenchmark of that name, the run that is live or
// the newest one that was judged.
func (c *cluster) findRun(ctx context.Context, name string) (*v1alpha1.BenchmarkRun, error) {
	run := &v1alpha1.BenchmarkRun{}
	err := c.get(ctx, runResource, name, run)
	if err == nil || !apierrors.IsNotFound(err) {
		return run, err
	}
	benchmark := &v1alpha1.StorageBenchmark{}
	err = c.get(ctx, benchmarkResource, name, benchmark)
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("namespace %s has neither a BenchmarkRun nor a StorageBenchmark %q: see kubectl get benchmarkruns,storagebenchmarks -A", c.namespace, name)
	case err != nil:
		return nil, err
	}
	switch status := &benchmark.Status; {
	case status.ActiveRun != nil && status.ActiveRun.UID != "":
		err = c.get(ctx, runResource, status.ActiveRun.Name, run)
	case status.LastRun != nil:
		err = c.get(ctx, runResource, status.LastRun.Name, run)
	default:
		return nil, fmt.Errorf("StorageBenchmark %s has no run yet: %s", name, waitingFor(benchmark))
	}
	if err != nil {
		return nil, fmt.Errorf("read the run of StorageBenchmark %s: %w", name, err)
	}
	return run, nil
}

// waitingFor is why a benchmark has no run, as the operator tells it.
func waitingFor(benchmark *v1alpha1.StorageBenchmark) string {
	for _, kind := range []string{v1alpha1.ConditionStalled, v1alpha1.ConditionReconciling, v1alpha1.ConditionReady} {
		for _, condition := range benchmark.Status.Conditions {
			if condition.Type == kind && condition.Message != "" && condition.Status != metav1.ConditionFalse {
				return condition.Reason + ": " + condition.Message
			}
		}
	}
	if benchmark.Status.ObservedGeneration < 0 || len(benchmark.Status.Conditions) == 0 {
		return "the operator has not seen it yet; is it running? See kubectl get pods -n storagebench-system"
	}
	return "nothing asks for one"
}
