package storagebenchmark

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/objective"
	"github.com/storagebench/storagebench/internal/plan"
)

const claimKind = "PersistentVolumeClaim"

// resolve reads the objects that spec.run refers to, and plans the run. It returns an error only if reading fails;
// missing objects and problems are in the candidate.
func (r *reconciler) resolve(ctx context.Context, benchmark *v1alpha1.StorageBenchmark) (candidate, error) {
	var failure error
	run, problems := plan.Resolve(&benchmark.Spec.Run, func(ref v1alpha1.ProfileRef) (v1alpha1.Engine, bool) {
		engine, found, err := r.profile(ctx, benchmark.Namespace, ref)
		if err != nil && failure == nil {
			failure = err
		}
		return engine, found
	})
	if failure != nil {
		return candidate{}, failure
	}
	found := candidate{run: run, reason: v1alpha1.ReasonProfileNotFound}
	for _, problem := range problems {
		if problem.Type == field.ErrorTypeNotFound {
			found.missing = append(found.missing, problem)
		} else {
			found.problems = append(found.problems, problem)
		}
	}
	if r.noClusterProfiles {
		explainUnreadable(found.missing)
	}
	claims, err := r.missingClaims(ctx, benchmark)
	if err != nil {
		return candidate{}, err
	}
	if len(found.missing) == 0 {
		found.reason = v1alpha1.ReasonClaimNotFound
		// The run's seed is not known yet, so plan with seed 0. The problems of a plan do not depend on the seed.
		if r.catalog != nil {
			found.catalog, _ = r.catalog(ctx)
		}
		found.cluster = plan.Cluster{Namespace: benchmark.Namespace, PriorityClass: r.priorityClass}
		_, unplannable := plan.Make(run, 0, plan.WithCatalog(found.catalog), plan.InCluster(found.cluster))
		found.problems = append(found.problems, plan.AsWritten(&benchmark.Spec.Run, unplannable)...)
		found.problems = append(found.problems, objective.Check(benchmark.Spec.Objectives, run)...)
	}
	found.missing = append(found.missing, claims...)
	return found, nil
}

func (r *reconciler) profile(ctx context.Context, namespace string, ref v1alpha1.ProfileRef) (v1alpha1.Engine, bool, error) {
	var engine *v1alpha1.Engine
	var object client.Object
	key := types.NamespacedName{Name: ref.Name}
	if ref.Kind == v1alpha1.ClusterWorkloadProfileKind {
		if r.noClusterProfiles {
			return v1alpha1.Engine{}, false, nil
		}
		profile := &v1alpha1.ClusterWorkloadProfile{}
		object, engine = profile, &profile.Spec.Engine
	} else {
		profile := &v1alpha1.WorkloadProfile{}
		object, engine, key.Namespace = profile, &profile.Spec.Engine, namespace
	}
	err := r.client.Get(ctx, key, object)
	if apierrors.IsNotFound(err) {
		return v1alpha1.Engine{}, false, nil
	}
	if err != nil {
		return v1alpha1.Engine{}, false, fmt.Errorf("read %s %s: %w", ref.Kind, ref.Name, err)
	}
	return *engine, true, nil
}

// explainUnreadable corrects the message about missing ClusterWorkloadProfiles, which may exist if the operator is not
// allowed to read them.
func explainUnreadable(missing field.ErrorList) {
	for _, problem := range missing {
		kind, _, _ := strings.Cut(fmt.Sprint(problem.BadValue), " ")
		if kind == v1alpha1.ClusterWorkloadProfileKind || kind == plan.AnyProfile {
			problem.Detail = "this operator watches selected namespaces and has no permission to read cluster-scoped profiles: create a " +
				v1alpha1.WorkloadProfileKind + " with the same spec in this namespace, or grant the operator the ClusterRole that the chart creates for watch.clusterReads"
		}
	}
}

// namedClaim is a claim that spec.run names, and the field that names it.
type namedClaim struct {
	name string
	path *field.Path
}

// claimsOf returns the claims that spec.run names.
func claimsOf(run *v1alpha1.RunSpec) []namedClaim {
	var named []namedClaim
	for i, target := range run.Targets {
		at := field.NewPath("spec", "run", "targets").Index(i)
		if target.ClaimName != "" {
			named = append(named, namedClaim{target.ClaimName, at.Child("claimName")})
		}
		for j, volume := range target.Volumes {
			if volume.ClaimName != "" {
				named = append(named, namedClaim{volume.ClaimName, at.Child("volumes").Index(j).Child("claimName")})
			}
		}
	}
	return named
}

// missingClaims returns the claims given by name that pods could not mount, because they do not exist or are being
// deleted.
func (r *reconciler) missingClaims(ctx context.Context, benchmark *v1alpha1.StorageBenchmark) (field.ErrorList, error) {
	var missing field.ErrorList
	for _, named := range claimsOf(&benchmark.Spec.Run) {
		object := &metav1.PartialObjectMetadata{}
		object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(claimKind))
		err := r.client.Get(ctx, types.NamespacedName{Namespace: benchmark.Namespace, Name: named.name}, object)
		problem := field.NotFound(named.path, named.name)
		switch {
		case apierrors.IsNotFound(err):
			problem.Detail = "no such " + claimKind + " in namespace " + benchmark.Namespace +
				": create it, correct the name, or use claimTemplate"
		case err != nil:
			return nil, fmt.Errorf("read claim %s: %w", named.name, err)
		case !object.DeletionTimestamp.IsZero():
			problem.Detail = "the " + claimKind + " is being deleted, so new pods cannot use it: recreate it or specify another one"
		default:
			continue
		}
		missing = append(missing, problem)
	}
	return missing, nil
}

// referencesOf returns the keys of everything that spec.run refers to, for the index.
func referencesOf(benchmark *v1alpha1.StorageBenchmark) []string {
	var keys []string
	_, _ = plan.Resolve(&benchmark.Spec.Run, func(ref v1alpha1.ProfileRef) (v1alpha1.Engine, bool) {
		keys = append(keys, referenceKey(ref.Kind, ref.Name))
		return v1alpha1.Engine{}, false // report the profile as not found, so that Resolve tries the next kind too
	})
	for _, named := range claimsOf(&benchmark.Spec.Run) {
		keys = append(keys, referenceKey(claimKind, named.name))
	}
	return keys
}

func referenceKey(kind, name string) string { return kind + "/" + name }
