package installation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// kindsPatience limits how long to wait for CRDs that are applied together with the operator.
const kindsPatience = 15 * time.Second

// Kinds waits until the API server serves all kinds of the API, for at most kindsPatience. If a kind is still missing,
// the error names it and explains how to install it. Without this check, the controllers would wait for the missing
// kind and report this only in the log.
func Kinds(ctx context.Context, client discovery.ServerResourcesInterface) error {
	return kinds(ctx, client, kindsPatience)
}

func kinds(ctx context.Context, client discovery.ServerResourcesInterface, patience time.Duration) error {
	deadline := time.Now().Add(patience)
	for {
		missing, err := missingKinds(client)
		if err == nil && len(missing) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			if err != nil {
				return err
			}
			return fmt.Errorf("the API server does not serve the kinds %s of %s: install them with `kubectl apply -k config/default` (or only config/crd)",
				strings.Join(missing, ", "), v1alpha1.GroupVersion)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the kinds of %s: %w", v1alpha1.GroupVersion, ctx.Err())
		case <-time.After(min(500*time.Millisecond, patience)):
		}
	}
}

func missingKinds(client discovery.ServerResourcesInterface) ([]string, error) {
	wanted := []string{v1alpha1.StorageBenchmarkKind, v1alpha1.BenchmarkRunKind,
		v1alpha1.WorkloadProfileKind, v1alpha1.ClusterWorkloadProfileKind}
	served, err := client.ServerResourcesForGroupVersion(v1alpha1.GroupVersion.String())
	switch {
	case apierrors.IsNotFound(err):
		return wanted, nil
	case err != nil:
		return nil, fmt.Errorf("list the kinds of %s: %w", v1alpha1.GroupVersion, err)
	}
	return slices.DeleteFunc(wanted, func(kind string) bool {
		for i := range served.APIResources {
			if served.APIResources[i].Kind == kind {
				return true
			}
		}
		return false
	}), nil
}
