package installation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/leader"
)

// CheckPatience limits how long a newly installed operator may take to become ready and to be elected leader.
const CheckPatience = 30 * time.Second

// Check verifies, for `helm test`, that an installation works: the API server serves the kinds and applies their rules,
// all operator replicas are ready, and one of them is the leader. It waits up to patience for the kinds, for readiness
// and for a leader. It writes a line for each check that passes, and returns an error that lists the failed checks. It
// creates no objects.
func Check(ctx context.Context, config *rest.Config, namespace string, out io.Writer, patience time.Duration) error {
	types := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(types); err != nil {
		return fmt.Errorf("register the kinds: %w", err)
	}
	ours, err := client.New(config, client.Options{Scheme: types})
	if err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	var problems []error
	for _, one := range []struct {
		what string
		ask  func() error
	}{
		{"the API server serves all kinds of " + v1alpha1.GroupVersion.String(), func() error { return kinds(ctx, api.Discovery(), patience) }},
		{"a valid benchmark is accepted", func() error { return checkAccepted(ctx, ours, namespace) }},
		{"an invalid benchmark is rejected", func() error { return checkRejected(ctx, ours, namespace) }},
		{"all operator replicas are ready", func() error {
			return retryFor(ctx, patience, func() error { return checkReplicas(ctx, api, namespace) })
		}},
		{"an operator is leading", func() error {
			return retryFor(ctx, patience, func() error { return checkLeader(ctx, api, namespace) })
		}},
	} {
		if err := one.ask(); err != nil {
			problems = append(problems, fmt.Errorf("failed: %s: %w", one.what, err))
			continue
		}
		_, _ = fmt.Fprintf(out, "ok: %s\n", one.what)
	}
	return errors.Join(problems...)
}

// retryFor calls ask until it succeeds or patience has passed, and returns its last error.
func retryFor(ctx context.Context, patience time.Duration, ask func() error) error {
	for deadline := time.Now().Add(patience); ; {
		err := ask()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(min(time.Second, patience)):
		}
	}
}

// minimalBenchmark returns a minimal benchmark that is sent to the API server as a dry run only.
func minimalBenchmark(namespace string) *v1alpha1.StorageBenchmark {
	made := &v1alpha1.StorageBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "storagebench-check"}}
	made.Spec.Run.Targets = []v1alpha1.Target{{Name: "data", Volumes: []v1alpha1.Volume{{Name: "data", ClaimName: "data"}}}}
	made.Spec.Run.Clients.Count = 1
	block, reads := resource.MustParse("4Ki"), int32(100)
	made.Spec.Run.Workload = &v1alpha1.Workload{Engine: v1alpha1.Engine{Fio: &v1alpha1.FioProfile{
		Pattern: v1alpha1.FioRandom, ReadPercent: &reads, BlockSize: &block, DatasetSize: resource.MustParse("1Mi")}}}
	made.Spec.Run.Phases = []v1alpha1.Phase{{Name: "layout", Prepare: &v1alpha1.PreparePhase{}}}
	return made
}

func checkAccepted(ctx context.Context, api client.Client, namespace string) error {
	if err := api.Create(ctx, minimalBenchmark(namespace), client.DryRunAll); err != nil {
		return fmt.Errorf("create a benchmark as a dry run: %w; the installed CRDs may be from another version: %s", err, upgradeKinds)
	}
	return nil
}

// upgradeKinds tells users how to upgrade the CRDs to the operator's version.
const upgradeKinds = "upgrade them with `kubectl apply --server-side --force-conflicts -f charts/storagebench/crds`"

func checkRejected(ctx context.Context, api client.Client, namespace string) error {
	faulty := minimalBenchmark(namespace)
	faulty.Spec.Run.Clients.Count = -1
	err := api.Create(ctx, faulty, client.DryRunAll)
	switch {
	case apierrors.IsInvalid(err) && strings.Contains(err.Error(), "spec.run.clients.count"):
		return nil
	case err == nil:
		return fmt.Errorf("a benchmark with spec.run.clients.count -1 was accepted, so the CRDs lack their validation rules: %s", upgradeKinds)
	}
	return fmt.Errorf("create a benchmark as a dry run: %w", err)
}

func checkReplicas(ctx context.Context, api kubernetes.Interface, namespace string) error {
	found, err := api.AppsV1().Deployments(namespace).Get(ctx, deploymentName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("get the Deployment: %w", err)
	}
	wanted := int32(1)
	if found.Spec.Replicas != nil {
		wanted = *found.Spec.Replicas
	}
	status := found.Status
	switch {
	case wanted == 0:
		return fmt.Errorf("the Deployment %s/%s has 0 replicas: set operator.replicas to 1 or more", namespace, deploymentName)
	case status.ObservedGeneration < found.Generation, status.UpdatedReplicas < wanted, status.AvailableReplicas < wanted:
		return fmt.Errorf("of %d replicas, %d are up to date and %d available: run `kubectl describe pods -n %s`, and read the logs of the pods",
			wanted, status.UpdatedReplicas, status.AvailableReplicas, namespace)
	}
	return nil
}

// deploymentName is the name of the operator's Deployment in the chart and in config.
const deploymentName = "storagebench-operator"

func checkLeader(ctx context.Context, api kubernetes.Interface, namespace string) error {
	found, err := api.CoordinationV1().Leases(namespace).Get(ctx, leader.LeaseName, metav1.GetOptions{})
	switch {
	case err != nil:
		return fmt.Errorf("get the Lease: %w", err)
	case found.Spec.HolderIdentity == nil || *found.Spec.HolderIdentity == "":
		return fmt.Errorf("the Lease %s/%s has no holder: read the operator's logs", namespace, leader.LeaseName)
	case found.Spec.RenewTime == nil || time.Since(found.Spec.RenewTime.Time) > leader.LeaseDuration:
		return fmt.Errorf("the Lease %s/%s has not been renewed by %s for %s: read the operator's logs", namespace, leader.LeaseName, *found.Spec.HolderIdentity, leader.LeaseDuration)
	}
	return nil
}
