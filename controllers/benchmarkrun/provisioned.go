package benchmarkrun

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/claims"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/discover"
	"github.com/storagebench/storagebench/internal/objects"
)

// templates determines which volumes of the run's claim templates get newly provisioned storage, and adds them to the
// Provisioned lists in found. Kubernetes provisions a volume for a claim only if no available volume of the claim's
// class is suitable. If one of the run's claims would bind to an available volume, the run is refused before its claims
// are created, unless the claim's template allows existing volumes.
func (r *Reconciler) templates(ctx context.Context, run *v1alpha1.BenchmarkRun, found *claimed) error {
	reader := &templateReader{storageReader: storageReader{r: r, namespace: run.Namespace, denied: map[string]string{}}, made: objects.Claims(run)}
	for i := range run.Spec.Run.Targets {
		target := &run.Spec.Run.Targets[i]
		on := found.storage[target.Name]
		for j := range target.Volumes {
			volume := &target.Volumes[j]
			if volume.ClaimTemplate == nil || claims.AllowsExisting(volume.ClaimTemplate) {
				continue
			}
			known, problem, err := reader.provisioned(ctx, run, target, volume)
			if err != nil {
				return err
			}
			switch {
			case problem != "":
				path := field.NewPath("spec", "run", "targets").Index(i).Child("volumes").Index(j).Child("claimTemplate")
				found.refuse(run, field.Forbidden(path, problem+claims.ExistingRemedy))
			case known:
				on.Provisioned = append(on.Provisioned, volume.Name)
			}
		}
		found.storage[target.Name] = on
	}
	return nil
}

// templateReader reads the objects that determine whether the volumes of templates are provisioned.
type templateReader struct {
	storageReader
	// made lists the claims that the run's templates create.
	made []*corev1.PersistentVolumeClaim
	// free lists the volumes of the cluster that are not bound to a claim. It is nil until the volumes have been listed.
	// unlisted is true if the operator is not allowed to list volumes.
	free     []corev1.PersistentVolume
	unlisted bool
}

// provisioned reports whether the claims of a template have, or will have, volumes that are provisioned for them.
// problem is set if one of the claims is, or would be, bound to an existing volume. known is false if the operator is
// not allowed to read the objects that determine this.
func (t *templateReader) provisioned(ctx context.Context, run *v1alpha1.BenchmarkRun, target *v1alpha1.Target, volume *v1alpha1.Volume) (known bool, problem string, err error) {
	there, err := t.claims(ctx, run, target)
	if err != nil {
		return false, "", err
	}
	known = true
	var class *string // the default class, which the API server would assign to claims that do not exist yet
	read := false
	for index := range claimsOf(run, volume) {
		name := objects.ClaimName(run, *target, *volume, index)
		at := slices.IndexFunc(there, func(c discover.Claim) bool { return c.Claim.Name == name })
		var claim *corev1.PersistentVolumeClaim
		switch {
		case at >= 0 && there[at].Claim.Status.Phase == corev1.ClaimBound:
			bound := there[at]
			known = known && bound.PV != nil
			if bound.PV != nil && !discover.Provisioned(bound.Claim, bound.PV) {
				return false, fmt.Sprintf("claim %s is bound to PersistentVolume %s, which was not provisioned for it and may contain data: ", name, bound.PV.Name), nil
			}
			continue
		case at >= 0:
			claim = there[at].Claim
		default:
			claim = t.made[slices.IndexFunc(t.made, func(c *corev1.PersistentVolumeClaim) bool { return c.Name == name })].DeepCopy()
			if claim.Spec.StorageClassName == nil && !read {
				if class, err = t.defaultClass(ctx, claim); err != nil {
					return false, "", err
				}
				read = true
			}
			if claim.Spec.StorageClassName == nil {
				claim.Spec.StorageClassName = class
			}
		}
		if err := t.listFree(ctx); err != nil {
			return false, "", err
		}
		known = known && !t.unlisted
		if fits := slices.IndexFunc(t.free, func(v corev1.PersistentVolume) bool { return discover.Adoptable(claim, &v) }); fits >= 0 {
			return false, fmt.Sprintf("the cluster would bind claim %s to the existing PersistentVolume %s, which may contain data: "+
				"use a StorageClass without available volumes, ", name, t.free[fits].Name), nil
		}
	}
	return known, "", nil
}

// claimsOf returns how many claims a volume's template creates.
func claimsOf(run *v1alpha1.BenchmarkRun, volume *v1alpha1.Volume) int {
	if volume.ClaimTemplate != nil && volume.ClaimTemplate.Scope == v1alpha1.ClaimPerClient {
		return clientsOf(run)
	}
	return 1
}

// defaultClass returns the StorageClass that the cluster assigns to a claim that names none, or nil. It creates the
// claim as a dry run. If the cluster refuses the claim, for example because of a quota, the class is unknown, and
// defaultClass returns the error.
func (t *templateReader) defaultClass(ctx context.Context, claim *corev1.PersistentVolumeClaim) (*string, error) {
	tried := claim.DeepCopy()
	if err := t.r.client.Create(ctx, tried, client.DryRunAll); err != nil {
		return nil, fmt.Errorf("create PersistentVolumeClaim %s: %w", claim.Name, err)
	}
	return tried.Spec.StorageClassName, nil
}

// listFree fills t.free with the volumes of the cluster that are not bound to a claim. It lists the volumes only once.
func (t *templateReader) listFree(ctx context.Context) error {
	if t.free != nil || t.unlisted {
		return nil
	}
	begin := func() { t.free = []corev1.PersistentVolume{} }
	listed, err := t.r.eachVolume(ctx, begin, func(volume *corev1.PersistentVolume) {
		if volume.Spec.ClaimRef == nil || volume.Spec.ClaimRef.UID == "" {
			t.free = append(t.free, *volume)
		}
	})
	t.unlisted = !listed
	return err
}

// refuse records the reason why the run cannot proceed, unless a step has started or there is already a reason.
func (c *claimed) refuse(run *v1alpha1.BenchmarkRun, problem *field.Error) {
	if problem != nil && c.refusal == nil && len(run.Status.Steps) == 0 {
		c.refusal = &decide.Failure{Reason: v1alpha1.ReasonClaimUnfit, Message: problem.Error()}
	}
}
