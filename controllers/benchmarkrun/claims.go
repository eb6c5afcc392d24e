package benchmarkrun

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/claims"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/discover"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/internal/plan"
)

// claimed is what was found of a run's claims before it makes a pod.
type claimed struct {
	// storage is what the pods of a target depend on.
	storage map[string]objects.Storage
	// refusal is why the run cannot be; nil when it can.
	refusal  *decide.Failure
	warnings []v1alpha1.Warning
}

// asked is one claim that is there, and who of the run wants it.
type asked struct {
	claim *corev1.PersistentVolumeClaim
	// volume is nil where the claim is not bound, or nobody may read it.
	volume *corev1.PersistentVolume
	// wanted by these volumes of targets: by several where a claim has a name.
	wanted []wanted
	// pods of the run that use it.
	pods int
}

// wanted is a volume of a target.
type wanted struct {
	target *v1alpha1.Target
	volume *v1alpha1.Volume
	path   *field.Path
}

// inspect looks at the claims of a run once in a session. What it may not do with them ends the run before there is a
// pod; after its first step nobody asks any more.
func (r *Reconciler) inspect(ctx context.Context, run *v1alpha1.BenchmarkRun, s *session) error {
	if s.claimed != nil || ending(run) || !run.DeletionTimestamp.IsZero() {
		return nil
	}
	all, err := r.askedClaims(ctx, run)
	if err != nil {
		return err
	}
	found := &claimed{storage: map[string]objects.Storage{}}
	for i := range run.Spec.Run.Targets {
		target := &run.Spec.Run.Targets[i]
		found.storage[target.Name] = storageOf(run, target, all, s.plan)
	}
	if len(run.Status.Steps) == 0 {
		if problem := refusal(run, all, s.plan); problem != nil {
			found.refusal = &decide.Failure{Reason: v1alpha1.ReasonClaimUnfit, Message: problem.Error()}
		}
	}
	users, err := r.users(ctx, run, all)
	if err != nil {
		return err
	}
	found.place(all, users)
	if len(run.Status.Steps) == 0 {
		found.busy(all, users)
	}
	s.claimed = found
	return nil
}

// askedClaims are the claims of a run that are there before it begins: those with a name, and those that were made
// for its benchmark before.
func (r *Reconciler) askedClaims(ctx context.Context, run *v1alpha1.BenchmarkRun) ([]*asked, error) {
	var all []*asked
	targets := field.NewPath("spec", "run", "targets")
	var kept map[string]*corev1.PersistentVolumeClaim
	for i := range run.Spec.Run.Targets {
		target := &run.Spec.Run.Targets[i]
		for j := range target.Volumes {
			volume := &target.Volumes[j]
			want := wanted{target: target, volume: volume, path: targets.Index(i).Child("volumes").Index(j)}
			switch {
			case volume.ClaimTemplate == nil:
				found, err := r.named(ctx, run, &all, volume.ClaimName)
				if err != nil {
					return nil, err
				}
				if found != nil {
					found.wanted = append(found.wanted, want)
					found.pods += clientsOf(run)
				}
			case volume.ClaimTemplate.Lifetime == v1alpha1.ClaimForBenchmark:
				if kept == nil {
					var err error
					if kept, err = r.keptClaims(ctx, run); err != nil {
						return nil, err
					}
				}
				all = append(all, keptOf(run, want, kept)...)
			}
		}
	}
	for _, one := range all {
		volume, err := r.volumeOf(ctx, one.claim)
		if err != nil {
			return nil, err
		}
		one.volume = volume
	}
	return all, nil
}

func clientsOf(run *v1alpha1.BenchmarkRun) int { return max(1, int(run.Spec.Run.Clients.Count)) }

// named reads a claim of a name, unless it is read already; nil where it is not there. Pods wait for one that comes
// yet.
func (r *Reconciler) named(ctx context.Context, run *v1alpha1.BenchmarkRun, all *[]*asked, name string) (*asked, error) {
	for _, one := range *all {
		if one.claim.Name == name {
			return one, nil
		}
	}
	claim := &corev1.PersistentVolumeClaim{}
	err := r.direct.Get(ctx, client.ObjectKey{Namespace: run.Namespace, Name: name}, claim)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read claim %s: %w", name, err)
	}
	one := &asked{claim: claim}
	*all = append(*all, one)
	return one, nil
}

// keptClaims are those that were made for the run's benchmark, by name.
func (r *Reconciler) keptClaims(ctx context.Context, run *v1alpha1.BenchmarkRun) (map[string]*corev1.PersistentVolumeClaim, error) {
	var list corev1.PersistentVolumeClaimList
	labels := client.MatchingLabels{v1alpha1.LabelBenchmark: objects.RunLabels(run)[v1alpha1.LabelBenchmark]}
	if err := r.direct.List(ctx, &list, client.InNamespace(run.Namespace), labels); err != nil {
		return nil, fmt.Errorf("list the claims of the benchmark: %w", err)
	}
	kept := map[string]*corev1.PersistentVolumeClaim{}
	for i := range list.Items {
		if ownedBy(&list.Items[i], types.UID(run.Spec.BenchmarkRef.UID)) {
			kept[list.Items[i].Name] = &list.Items[i]
		}
	}
	return kept, nil
}

// keptOf are the claims of one template that are there.
func keptOf(run *v1alpha1.BenchmarkRun, want wanted, kept map[string]*corev1.PersistentVolumeClaim) []*asked {
	count, pods := 1, clientsOf(run)
	if want.volume.ClaimTemplate.Scope == v1alpha1.ClaimPerClient {
		count, pods = pods, 1
	}
	var all []*asked
	for index := range count {
		if claim := kept[objects.ClaimName(run, *want.target, *want.volume, index)]; claim != nil {
			all = append(all, &asked{claim: claim, wanted: []wanted{want}, pods: pods})
		}
	}
	return all
}

// volumeOf reads the volume that a claim is bound to; nil where there is none, or it may not be read.
func (r *Reconciler) volumeOf(ctx context.Context, claim *corev1.PersistentVolumeClaim) (*corev1.PersistentVolume, error) {
	if claim.Spec.VolumeName == "" {
		return nil, nil
	}
	volume := &corev1.PersistentVolume{}
	found, _, err := r.optional(ctx, claim.Spec.VolumeName, volume)
	if err != nil || !found {
		return nil, err
	}
	return volume, nil
}

// refusal is the first thing that a run may not do with a claim; nil where there is none.
func refusal(run *v1alpha1.BenchmarkRun, all []*asked, planned plan.Plan) *field.Error {
	for _, one := range all {
		for _, want := range one.wanted {
			claim := claims.Claim{
				Name: one.claim.Name, Path: want.path.Child("claimName"),
				Modes: claims.Modes(one.claim), Asked: one.claim.Spec.AccessModes,
				MountedReadOnly: discover.MountedReadOnly(one.volume),
			}
			use := claims.Use{Pods: one.pods, OnePerNode: claims.Spread(&run.Spec.Run), Writes: planned.FirstWrite(want.target.Name)}
			if readOnly(one) {
				use.Writes = planned.FirstChange(want.target)
			}
			if template := want.volume.ClaimTemplate; template != nil {
				claim.Path = want.path.Child("claimTemplate")
				if problem := claims.Changed(claim.Path, one.claim, &template.Spec); problem != nil {
					return problem
				}
			}
			if problem := claims.Check(field.NewPath("spec", "run"), claim, use); problem != nil {
				return problem
			}
		}
	}
	return nil
}

// storageOf is what the pods of a target depend on, by its claims that are there and by its templates.
func storageOf(run *v1alpha1.BenchmarkRun, target *v1alpha1.Target, all []*asked, planned plan.Plan) objects.Storage {
	var made objects.Storage
	writes, changes := planned.FirstWrite(target.Name) != "", planned.FirstChange(target) != ""
	for j := range target.Volumes {
		volume := &target.Volumes[j]
		if template := volume.ClaimTemplate; template != nil {
			if claims.Raw(&template.Spec) {
				made.Devices = append(made.Devices, volume.Name)
			}
			if template.Scope != v1alpha1.ClaimPerClient && clientsOf(run) > 1 && claims.OneNode(template.Spec.AccessModes, writes) {
				made.Together = []string{target.Name}
			}
			continue
		}
		at := slices.IndexFunc(all, func(one *asked) bool { return one.claim.Name == volume.ClaimName })
		if at < 0 {
			continue
		}
		if claims.Raw(&all[at].claim.Spec) {
			made.Devices = append(made.Devices, volume.Name)
		}
		if !changes && readOnly(all[at]) {
			made.ReadOnly = append(made.ReadOnly, volume.Name)
		}
	}
	return made
}

// readOnly says that nothing can be written to a claim.
func readOnly(one *asked) bool {
	return claims.ReadOnly(one.claim.Spec.AccessModes) || discover.MountedReadOnly(one.volume) != ""
}

// place puts the pods of claims that one node at a time can have together, and to where such a claim is in use.
func (c *claimed) place(all []*asked, users map[*asked][]user) {
	for _, one := range all {
		writes := slices.ContainsFunc(one.wanted, func(w wanted) bool { return !slices.Contains(c.storage[w.target.Name].ReadOnly, w.volume.Name) })
		perClient := slices.ContainsFunc(one.wanted, func(w wanted) bool {
			return w.volume.ClaimTemplate != nil && w.volume.ClaimTemplate.Scope == v1alpha1.ClaimPerClient
		})
		if perClient || !claims.OneNode(claims.Modes(one.claim), writes) {
			continue // one client's claim says nothing of where the others are
		}
		node := nodeOf(users[one])
		var targets []string
		for _, want := range one.wanted {
			// What was together with one of them before is together with all of them now.
			targets = append(targets, want.target.Name)
			targets = append(targets, c.storage[want.target.Name].Together...)
		}
		slices.Sort(targets)
		targets = slices.Compact(targets)
		for _, name := range targets {
			on := c.storage[name]
			if one.pods > 1 {
				on.Together = targets
			}
			if node != "" {
				on.Node = node
			}
			c.storage[name] = on
		}
	}
}

// storage is what the pods of a target depend on; the zero value before the claims were looked at, when there is no
// pod to make either.
func (s *session) storage(target string) objects.Storage {
	if s.claimed == nil {
		return objects.Storage{}
	}
	return s.claimed.storage[target]
}
