package benchmarkrun

import (
	"context"
	"fmt"
	"path"
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

// claimed is the result of inspecting a run's claims. The claims are inspected before the run creates pods.
type claimed struct {
	// storage maps the name of each target to the properties of its storage that affect its pods.
	storage map[string]objects.Storage
	// refusal is the reason why the run cannot proceed, or nil if it can.
	refusal  *decide.Failure
	warnings []v1alpha1.Warning
}

// usedClaim is an existing claim that a run uses, with the volumes and the number of pods of the run that use it.
type usedClaim struct {
	claim *corev1.PersistentVolumeClaim
	// volume is nil if the claim is not bound, or if the operator is not allowed to read the volume.
	volume *corev1.PersistentVolume
	// volumes lists the volumes of targets that use the claim. If a claim is given by name, several volumes can use it.
	volumes []volumeUse
	// pods is the number of pods of the run that use the claim.
	pods int
}

// volumeUse is a volume of a target, with the field paths of the volume and of the target in the specification.
type volumeUse struct {
	target           *v1alpha1.Target
	volume           *v1alpha1.Volume
	targetPath, path *field.Path
}

// inspect checks the claims of a run once in each operator process that conducts the run, and again when clients are
// replaced. If a claim is unsuitable for the run, the run fails before any pod is created. After the first step, an
// unsuitable claim no longer fails the run. If the claims of the templates cannot be checked, for example because a
// quota is exceeded or a webhook does not answer, the run's clients wait, and the next reconcile tries again.
func (r *Reconciler) inspect(ctx context.Context, run *v1alpha1.BenchmarkRun, s *session) error {
	if s.claimed != nil && !s.inspectAgain || ending(run) || !run.DeletionTimestamp.IsZero() {
		return nil
	}
	all, err := r.usedClaims(ctx, run)
	if err != nil {
		return err
	}
	found := &claimed{storage: map[string]objects.Storage{}}
	for i := range run.Spec.Run.Targets {
		target := &run.Spec.Run.Targets[i]
		found.storage[target.Name] = storageOf(run, target, all, s.plan)
	}
	found.refuse(run, refusal(run, all, s.plan))
	if err := r.templates(ctx, run, found); err != nil {
		// Do not return the error: the run must report the problem, and fail if the problem lasts longer than the start
		// timeout.
		s.explainAbsent(err)
		return nil
	}
	users, err := r.users(ctx, run, all)
	if err != nil {
		return err
	}
	found.placePods(all, users)
	if len(run.Status.Steps) == 0 {
		found.checkIdle(all, users)
	}
	s.claimed, s.inspectAgain = found, false
	return nil
}

// usedClaims returns the claims of a run that exist before it begins: the claims given by name, and the claims that
// were created earlier for its benchmark.
func (r *Reconciler) usedClaims(ctx context.Context, run *v1alpha1.BenchmarkRun) ([]*usedClaim, error) {
	var all []*usedClaim
	targets := field.NewPath("spec", "run", "targets")
	var kept map[string]*corev1.PersistentVolumeClaim
	for i := range run.Spec.Run.Targets {
		target, at := &run.Spec.Run.Targets[i], targets.Index(i)
		for j := range target.Volumes {
			volume := &target.Volumes[j]
			want := volumeUse{target: target, volume: volume, targetPath: at, path: at.Child("volumes").Index(j)}
			switch {
			case volume.ClaimTemplate == nil:
				found, err := r.named(ctx, run, &all, volume.ClaimName)
				if err != nil {
					return nil, err
				}
				if found != nil {
					found.volumes = append(found.volumes, want)
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

// named returns the claim with the given name, and reads each claim only once. If the claim does not exist, named
// returns nil and no error, because the run's pods wait until the claim exists.
func (r *Reconciler) named(ctx context.Context, run *v1alpha1.BenchmarkRun, all *[]*usedClaim, name string) (*usedClaim, error) {
	for _, one := range *all {
		if one.claim.Name == name {
			return one, nil
		}
	}
	claim, err := r.readClaim(ctx, run.Namespace, name)
	if claim == nil {
		return nil, err
	}
	one := &usedClaim{claim: claim}
	*all = append(*all, one)
	return one, nil
}

// readClaim returns a claim, or nil if it does not exist.
func (r *Reconciler) readClaim(ctx context.Context, namespace, name string) (*corev1.PersistentVolumeClaim, error) {
	claim := &corev1.PersistentVolumeClaim{}
	err := r.direct.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, claim)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read claim %s: %w", name, err)
	}
	return claim, nil
}

// keptClaims returns the claims that were created for the run's benchmark. The keys of the map are the names of the
// claims.
func (r *Reconciler) keptClaims(ctx context.Context, run *v1alpha1.BenchmarkRun) (map[string]*corev1.PersistentVolumeClaim, error) {
	var list corev1.PersistentVolumeClaimList
	labels := client.MatchingLabels{v1alpha1.LabelBenchmark: objects.RunLabels(run)[v1alpha1.LabelBenchmark]}
	if err := r.direct.List(ctx, &list, client.InNamespace(run.Namespace), labels); err != nil {
		return nil, fmt.Errorf("list the claims of the benchmark: %w", err)
	}
	kept := map[string]*corev1.PersistentVolumeClaim{}
	for i := range list.Items {
		if r.hasProof(&list.Items[i], types.UID(run.Spec.BenchmarkRef.UID)) {
			kept[list.Items[i].Name] = &list.Items[i]
		}
	}
	return kept, nil
}

// keptOf returns the claims in kept that were created from the template of the given volume.
func keptOf(run *v1alpha1.BenchmarkRun, want volumeUse, kept map[string]*corev1.PersistentVolumeClaim) []*usedClaim {
	count, pods := 1, clientsOf(run)
	if want.volume.ClaimTemplate.Scope == v1alpha1.ClaimPerClient {
		count, pods = pods, 1
	}
	var all []*usedClaim
	for index := range count {
		if claim := kept[objects.ClaimName(run, *want.target, *want.volume, index)]; claim != nil {
			all = append(all, &usedClaim{claim: claim, volumes: []volumeUse{want}, pods: pods})
		}
	}
	return all
}

// volumeOf reads the volume that a claim is bound to. It returns nil if there is none, or if the operator is not
// allowed to read it.
func (r *Reconciler) volumeOf(ctx context.Context, claim *corev1.PersistentVolumeClaim) (*corev1.PersistentVolume, error) {
	return boundVolume(claim, func(name string) (*corev1.PersistentVolume, error) {
		volume, _, err := optional(ctx, r, name, &corev1.PersistentVolume{})
		return volume, err
	})
}

// boundVolume returns the volume that a claim is bound to, or nil. It calls read to get a volume by its name; read
// returns nil if the volume cannot be read. If a claim names a volume without being bound to it, boundVolume returns
// nil, because that volume may belong to another namespace.
func boundVolume(claim *corev1.PersistentVolumeClaim, read func(name string) (*corev1.PersistentVolume, error)) (*corev1.PersistentVolume, error) {
	if claim == nil || claim.Status.Phase != corev1.ClaimBound || claim.Spec.VolumeName == "" {
		return nil, nil
	}
	volume, err := read(claim.Spec.VolumeName)
	if err != nil || volume == nil || !discover.Bound(claim, volume) {
		return nil, err
	}
	return volume, nil
}

// refusal checks whether the run's claims allow everything that the run does with them. It returns an error for the
// first use that a claim does not allow, or nil if there is none.
func refusal(run *v1alpha1.BenchmarkRun, all []*usedClaim, planned plan.Plan) *field.Error {
	for _, one := range all {
		for _, want := range one.volumes {
			claim := claims.Claim{
				Name: one.claim.Name, Path: want.path.Child("claimName"),
				Modes: claims.Modes(one.claim), Asked: one.claim.Spec.AccessModes,
				MountedReadOnly: discover.MountedReadOnly(one.volume),
			}
			use := claims.Use{Pods: one.pods, OnePerNode: run.Spec.Run.Clients.OnePerNode(), Writes: planned.FirstWrite(want.target.Name)}
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
			if claims.Raw(&one.claim.Spec) {
				if problems := claims.CheckRaw(want.targetPath, want.target, claim, one.pods); len(problems) > 0 {
					return problems[0]
				}
			}
		}
	}
	return sharedDirectory(all)
}

// sharedDirectory returns an error if two volumes with the same path refer to the same storage through different
// claims, because client 0 of each target would then use the same directory. The plan already refuses two such volumes
// that name the same claim.
func sharedDirectory(all []*usedClaim) *field.Error {
	for i, one := range all {
		for _, other := range all[:i] {
			if readOnly(one) || readOnly(other) || !discover.Same(one.volume, other.volume) {
				continue
			}
			for _, use := range one.volumes {
				// Skip the per-client claims of one volume: different clients use different directories.
				at := slices.IndexFunc(other.volumes, func(o volumeUse) bool {
					return o.volume != use.volume && path.Clean(o.target.Path) == path.Clean(use.target.Path)
				})
				if at >= 0 {
					return field.Invalid(use.targetPath.Child("path"), use.target.Path, fmt.Sprintf(
						"claim %s refers to the same storage as claim %s of %s: their clients would overwrite each other's files. "+
							"Use other storage, or set a different path for each target, such as bench/%s",
						one.claim.Name, other.claim.Name, other.volumes[at].path, use.target.Name))
				}
			}
		}
	}
	return nil
}

// storageOf returns the properties of a target's storage that affect its pods. It derives them from the target's
// existing claims and its templates.
func storageOf(run *v1alpha1.BenchmarkRun, target *v1alpha1.Target, all []*usedClaim, planned plan.Plan) objects.Storage {
	var made objects.Storage
	changes := planned.FirstChange(target) != ""
	for j := range target.Volumes {
		volume := &target.Volumes[j]
		if template := volume.ClaimTemplate; template != nil {
			if claims.Raw(&template.Spec) {
				made.Devices = append(made.Devices, volume.Name)
			}
			oneNode := claims.OneNode(template.Spec.AccessModes, !claims.ReadOnly(template.Spec.AccessModes))
			if template.Scope != v1alpha1.ClaimPerClient && clientsOf(run) > 1 && oneNode {
				made.SameNodeTargets = []string{target.Name}
			}
			continue
		}
		at := slices.IndexFunc(all, func(one *usedClaim) bool { return one.claim.Name == volume.ClaimName })
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

// readOnly reports whether a claim cannot be written to.
func readOnly(one *usedClaim) bool {
	return claims.ReadOnly(one.claim.Spec.AccessModes) || discover.MountedReadOnly(one.volume) != ""
}

// placePods assigns all pods that use the same single-node claim to one node. If the claim is already in use on a node,
// the pods are assigned to that node.
func (c *claimed) placePods(all []*usedClaim, users map[*usedClaim][]user) {
	for _, one := range all {
		perClient := slices.ContainsFunc(one.volumes, func(w volumeUse) bool {
			return w.volume.ClaimTemplate != nil && w.volume.ClaimTemplate.Scope == v1alpha1.ClaimPerClient
		})
		if perClient || !claims.OneNode(claims.Modes(one.claim), !readOnly(one)) {
			continue // only one client uses each claim, or several nodes can mount the claim
		}
		node := nodeOf(users[one])
		var targets []string
		for _, want := range one.volumes {
			// Another claim may already require this target to share a node with other targets. Add those targets to
			// the list.
			targets = append(targets, want.target.Name)
			targets = append(targets, c.storage[want.target.Name].SameNodeTargets...)
		}
		slices.Sort(targets)
		targets = slices.Compact(targets)
		for _, name := range targets {
			on := c.storage[name]
			if one.pods > 1 {
				on.SameNodeTargets = targets
			}
			if node != "" {
				on.Node = node
			}
			c.storage[name] = on
		}
	}
}

// storage returns the properties of a target's storage that affect its pods. It returns the zero value until the claims
// have been inspected, which happens before any pod is created.
func (s *session) storage(target string) objects.Storage {
	if s.claimed == nil {
		return objects.Storage{}
	}
	return s.claimed.storage[target]
}
