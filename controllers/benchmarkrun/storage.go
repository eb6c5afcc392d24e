package benchmarkrun

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/discover"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/internal/record"
)

// due reports whether the storage must be described now: all clients are ready, so their mounts and nodes are known,
// and no step has started yet. Lost clients do not count if the run continues without them.
func due(run *v1alpha1.BenchmarkRun, clients []decide.Client) bool {
	if run.Spec.Run.Clients.OnLoss == v1alpha1.OnLossContinueDegraded {
		clients = slices.DeleteFunc(slices.Clone(clients), func(c decide.Client) bool { return c.Connection == decide.Lost })
	}
	return !record.StorageNoted(run) && len(run.Status.Steps) == 0 && !ending(run) && len(clients) > 0 &&
		!slices.ContainsFunc(clients, func(c decide.Client) bool { return c.Connection != decide.Ready })
}

// describe identifies the storage of each target and its documented limits. It returns a failure if the specification
// sets invalid limits.
func (r *Reconciler) describe(ctx context.Context, run *v1alpha1.BenchmarkRun, s *session, pods map[string]*corev1.Pod) ([]v1alpha1.StorageDescription, *decide.Failure, error) {
	catalog, notes := r.options.Catalog(ctx)
	reader := &storageReader{r: r, namespace: run.Namespace, denied: map[string]string{}}
	environments := s.conductor.Environments()
	var all []v1alpha1.StorageDescription
	for i := range run.Spec.Run.Targets {
		target := &run.Spec.Run.Targets[i]
		read := discover.Target{Name: target.Name, Environments: environments}
		var err error
		if read.Claims, err = reader.claims(ctx, run, target); err != nil {
			return nil, nil, err
		}
		if read.Nodes, err = reader.nodes(ctx, nodesOf(run, s, target.Name, pods)); err != nil {
			return nil, nil, err
		}
		read.Denied = reader.denied
		found := discover.Describe(read)
		described, err := catalog.Describe(target, found.Description)
		if err != nil {
			return nil, &decide.Failure{Reason: v1alpha1.ReasonInvalidWorkload,
				Message: fmt.Sprintf("spec.run.targets[%d].%s", i, err)}, nil
		}
		found.Complete(&described)
		described.Notes = slices.Concat(notes, described.Notes)
		described.Notes = described.Notes[:min(len(described.Notes), 16)]
		all = append(all, described)
	}
	return all, nil, nil
}

// nodesOf returns the nodes of a target's clients, sorted and without duplicates.
func nodesOf(run *v1alpha1.BenchmarkRun, s *session, target string, pods map[string]*corev1.Pod) []string {
	var names []string
	for _, key := range s.of(target) {
		if pod := pods[objects.PodName(run, s.members[key].pod)]; pod != nil && pod.Spec.NodeName != "" {
			names = append(names, pod.Spec.NodeName)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// storageReader reads claims and the objects that describe their storage, such as volumes, classes and nodes. It reads
// each object only once.
type storageReader struct {
	r         *Reconciler
	namespace string
	// denied holds the kinds that cannot be read, each with the reason.
	denied map[string]string

	claim      map[string]*corev1.PersistentVolumeClaim
	volume     map[string]*corev1.PersistentVolume
	class      map[string]*storagev1.StorageClass
	attributes map[string]*storagev1.VolumeAttributesClass
	driver     map[string]*storagev1.CSIDriver
	node       map[string]discover.Node
}

// manyClaims is the number of claims above which all claims of the namespace are listed, because reading claims one by
// one would take too many requests.
const manyClaims = 24

// claims returns the claims of a target, with their volumes, drivers and classes. It omits missing claims, because the
// status of the pods that wait for them already reports them.
func (s *storageReader) claims(ctx context.Context, run *v1alpha1.BenchmarkRun, target *v1alpha1.Target) ([]discover.Claim, error) {
	var all []discover.Claim
	var names []string
	for i := range target.Volumes {
		volume := &target.Volumes[i]
		for index := range claimsOf(run, volume) {
			all = append(all, discover.Claim{Volume: volume.Name})
			names = append(names, objects.ClaimName(run, *target, *volume, index))
		}
	}
	if len(names) > manyClaims {
		if err := s.list(ctx); err != nil {
			return nil, err
		}
	}
	for i := range all {
		claim, err := once(&s.claim, names[i], func() (*corev1.PersistentVolumeClaim, error) { return s.r.readClaim(ctx, s.namespace, names[i]) })
		if err != nil {
			return nil, err
		}
		all[i].Claim = claim
		if err := s.follow(ctx, &all[i]); err != nil {
			return nil, err
		}
		all[i].MadeForRun = claim != nil && madeFor(run, claim) && (all[i].PV == nil || discover.Provisioned(claim, all[i].PV))
	}
	return slices.DeleteFunc(all, func(c discover.Claim) bool { return c.Claim == nil }), nil
}

// madeFor reports whether a claim was created with the run: the run owns it, or it was created for the benchmark after
// the run had started.
func madeFor(run *v1alpha1.BenchmarkRun, claim *corev1.PersistentVolumeClaim) bool {
	if ownedBy(claim, run.UID) {
		return true
	}
	made := ownedBy(claim, types.UID(run.Spec.BenchmarkRef.UID))
	// Truncate the start time, because the API server stores the creation time of a claim in whole seconds.
	return made && run.Status.StartTime != nil && !claim.CreationTimestamp.Time.Before(run.Status.StartTime.Truncate(time.Second))
}

// follow reads the volume, the driver and the classes of a claim.
func (s *storageReader) follow(ctx context.Context, c *discover.Claim) error {
	var err error
	c.PV, err = boundVolume(c.Claim, func(name string) (*corev1.PersistentVolume, error) {
		return once(&s.volume, name, func() (*corev1.PersistentVolume, error) {
			return unlessDenied(ctx, s, discover.KindVolume, name, &corev1.PersistentVolume{})
		})
	})
	if err != nil {
		return err
	}
	if name := discover.DriverOf(c.PV); name != "" {
		// No limit depends on the CSIDriver object, so missing permission to read it is not reported.
		c.Driver, err = once(&s.driver, name, func() (*storagev1.CSIDriver, error) {
			driver, _, err := optional(ctx, s.r, name, &storagev1.CSIDriver{})
			return driver, err
		})
		if err != nil {
			return err
		}
	}
	if name := discover.ClassOf(*c); name != "" {
		c.Class, err = once(&s.class, name, func() (*storagev1.StorageClass, error) {
			return unlessDenied(ctx, s, discover.KindClass, name, &storagev1.StorageClass{})
		})
		if err != nil {
			return err
		}
	}
	if name := discover.AttributesClassOf(*c); name != "" {
		c.Attributes, err = once(&s.attributes, name, func() (*storagev1.VolumeAttributesClass, error) {
			return unlessDenied(ctx, s, discover.KindAttributesClass, name, &storagev1.VolumeAttributesClass{})
		})
	}
	return err
}

// nodes returns the nodes with the given names. It reads several of them in parallel.
func (s *storageReader) nodes(ctx context.Context, names []string) ([]discover.Node, error) {
	if s.node == nil {
		s.node = map[string]discover.Node{}
	}
	var absent []string
	for _, name := range names {
		if _, known := s.node[name]; !known {
			absent = append(absent, name)
		}
	}
	read, why, problems := make([]discover.Node, len(absent)), make([]string, len(absent)), make([]error, len(absent))
	slots := make(chan struct{}, parallelCreates)
	var workers sync.WaitGroup
	for i, name := range absent {
		workers.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			var node corev1.Node
			_, why[i], problems[i] = optional(ctx, s.r, name, &node)
			read[i] = discover.Node{Name: name, Labels: node.Labels}
		})
	}
	workers.Wait()
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	for i := range read {
		s.node[read[i].Name] = read[i]
		if why[i] != "" {
			s.denied[discover.KindNode] = why[i]
		}
	}
	var all []discover.Node
	for _, name := range names {
		all = append(all, s.node[name])
	}
	return all, nil
}

// list reads all claims of the namespace and their volumes, instead of reading them one by one.
func (s *storageReader) list(ctx context.Context) error {
	var claims corev1.PersistentVolumeClaimList
	if err := s.r.direct.List(ctx, &claims, client.InNamespace(s.namespace)); err != nil {
		return fmt.Errorf("list the claims: %w", err)
	}
	if s.claim == nil {
		s.claim = map[string]*corev1.PersistentVolumeClaim{}
	}
	for i := range claims.Items {
		s.claim[claims.Items[i].Name] = &claims.Items[i]
	}
	if s.volume == nil {
		s.volume = map[string]*corev1.PersistentVolume{}
	}
	// eachVolume returns no error if the operator is not allowed to list volumes. The missing permission is reported when
	// a single volume is read.
	_, err := s.r.eachVolume(ctx, nil, func(volume *corev1.PersistentVolume) {
		if claim := volume.Spec.ClaimRef; claim != nil && claim.Namespace == s.namespace {
			s.volume[volume.Name] = volume.DeepCopy()
		}
	})
	return err
}

// once returns an object, reading it only the first time.
func once[T any](known *map[string]*T, name string, read func() (*T, error)) (*T, error) {
	if found, is := (*known)[name]; is {
		return found, nil
	}
	found, err := read()
	if err != nil {
		return nil, err
	}
	if *known == nil {
		*known = map[string]*T{}
	}
	(*known)[name] = found
	return found, nil
}

// unlessDenied reads an object as optional does. If the operator is not allowed to read its kind, or the cluster lacks
// it, unlessDenied records the reason in denied and does not try to read that kind again.
func unlessDenied[T client.Object](ctx context.Context, s *storageReader, kind, name string, into T) (found T, err error) {
	if s.denied[kind] != "" {
		return found, nil
	}
	found, why, err := optional(ctx, s.r, name, into)
	if why != "" {
		s.denied[kind] = why
	}
	return found, err
}
