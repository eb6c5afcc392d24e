package benchmarkrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agent"
	"github.com/storagebench/storagebench/internal/dataset"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/identity"
	"github.com/storagebench/storagebench/internal/objects"
)

// parallelCreates is how many clients are made at a time: each takes two requests.
const parallelCreates = 8

// populate makes what the run needs and does not have yet, unless it is on its way out. What cannot
// be made is told as the reason why the client is not there, and tried again.
func (r *Reconciler) populate(ctx context.Context, run *v1alpha1.BenchmarkRun, s *session, seen observation) error {
	if ending(run) || !run.DeletionTimestamp.IsZero() {
		return nil
	}
	var absent []decide.ClientKey
	for _, key := range s.order {
		if m := s.members[key]; !m.lost && !m.served {
			absent = append(absent, key)
		}
	}
	if len(absent) == 0 {
		return nil
	}
	if err := r.common(ctx, run); err != nil {
		for _, key := range absent {
			s.members[key].why = err.Error()
		}
		return unlessRefused(err)
	}
	slots := make(chan struct{}, parallelCreates)
	problems := make([]error, len(absent))
	var workers sync.WaitGroup
	for i, key := range absent {
		workers.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			m := s.members[key]
			if err := r.makeClient(ctx, run, s, m, seen.pods); err != nil {
				m.why = err.Error()
				problems[i] = unlessRefused(err)
			}
		})
	}
	workers.Wait()
	return errors.Join(problems...)
}

// ending says that the run makes nothing any more.
func ending(run *v1alpha1.BenchmarkRun) bool {
	return finishing(run) || run.Status.EndTime != nil ||
		meta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionFailed)
}

// unlessRefused leaves out answers of the cluster that no hurry changes: a quota, Pod Security, a
// namespace that is being deleted. They are told in the status, and tried again at the next beat.
func unlessRefused(err error) error {
	if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsNotFound(err) || errors.Is(err, errNotOurs) {
		return nil
	}
	return err
}

// errNotOurs is in the chain when an object of a needed name belongs to somebody else.
var errNotOurs = errors.New("it belongs to somebody else")

// common makes what all clients share.
func (r *Reconciler) common(ctx context.Context, run *v1alpha1.BenchmarkRun) error {
	policy := objects.NetworkPolicy(r.options.Settings, run)
	if err := r.ensure(ctx, policy); err != nil {
		return fmt.Errorf("make NetworkPolicy %s: %w", policy.Name, err)
	}
	for _, claim := range objects.Claims(run) {
		if err := r.ensure(ctx, claim); err != nil {
			return fmt.Errorf("make PersistentVolumeClaim %s: %w", claim.Name, err)
		}
	}
	return nil
}

// ensure makes an object, or proves that the one that is there is the one that was to be made.
func (r *Reconciler) ensure(ctx context.Context, object client.Object) error {
	owner := object.GetOwnerReferences()[0]
	there, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("%T is no object", object)
	}
	err := r.client.Create(ctx, object)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	if err := r.direct.Get(ctx, client.ObjectKeyFromObject(object), there); err != nil {
		return err
	}
	if !ownedBy(there, owner.UID) {
		return fmt.Errorf("%w: delete or rename it", errNotOurs)
	}
	object.SetUID(there.GetUID())
	return nil
}

func ownedBy(object metav1.Object, uid types.UID) bool {
	for _, reference := range object.GetOwnerReferences() {
		if reference.UID == uid {
			return true
		}
	}
	return false
}

// makeClient makes the pod of a client and the Secret with its identity, unless they are there.
func (r *Reconciler) makeClient(ctx context.Context, run *v1alpha1.BenchmarkRun, s *session, m *member, pods map[string]*corev1.Pod) error {
	pod := pods[objects.PodName(run, m.pod)]
	if pod == nil {
		if m.made {
			return nil
		}
		if before := formerPod(run, m, pods); before != nil {
			m.why = fmt.Sprintf("pod %s, which it replaces, is not gone yet (node %s)", before.Name, before.Spec.NodeName)
			return r.remove(ctx, before)
		}
		pod = objects.Pod(r.options.Settings, run, m.pod, s.storage(m.pod.Target))
		if err := r.ensure(ctx, pod); err != nil {
			return fmt.Errorf("make pod %s: %w", pod.Name, err)
		}
		m.made = true
	}
	config, err := agentConfig(run, s, m.pod)
	if err != nil {
		return err
	}
	secret := objects.Secret(pod, config)
	// Secrets are only ever created here, never read. One that is there already has these very
	// bytes, or its agent will not be able to prove itself.
	if err := r.client.Create(ctx, secret); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make Secret %s: %w", secret.Name, err)
	}
	m.served = true
	return nil
}

// formerPod is a pod of the same client that has to go first; nil when there is none.
func formerPod(run *v1alpha1.BenchmarkRun, m *member, pods map[string]*corev1.Pod) *corev1.Pod {
	for attempt := m.pod.Attempt - 1; attempt > 0; attempt-- {
		former := m.pod
		former.Attempt = attempt
		pod := pods[objects.PodName(run, former)]
		if pod == nil || pod.DeletionTimestamp != nil && len(pod.Finalizers) > 0 && endedOnly(pod) != nil {
			// One that has ended and is kept by a finalizer, such as that of Kueue, may wait for its replacement.
			continue
		}
		return pod
	}
	return nil
}

// remove deletes an object, that very one.
func (r *Reconciler) remove(ctx context.Context, object client.Object) error {
	if !object.GetDeletionTimestamp().IsZero() {
		return nil
	}
	uid := object.GetUID()
	err := r.client.Delete(ctx, object, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// agentConfig is all that an agent is told before anybody connects.
func agentConfig(run *v1alpha1.BenchmarkRun, s *session, client objects.Client) ([]byte, error) {
	bundle, err := s.authority.Client(client.Target, client.Index)
	if err != nil {
		return nil, fmt.Errorf("make the identity of client %s/%d: %w", client.Target, client.Index, err)
	}
	config := configOf(run, s.plan.DatasetHash, client, bundle, s.storage(client.Target))
	config.Installation = s.installation
	return json.Marshal(config)
}

func configOf(run *v1alpha1.BenchmarkRun, datasetHash string, client objects.Client, bundle identity.Bundle, on objects.Storage) agent.Config {
	config := agent.Config{
		RunUID:        string(run.UID),
		RunName:       run.Name,
		Target:        client.Target,
		Client:        client.Index,
		Listen:        fmt.Sprintf(":%d", objects.Port(run, client)),
		Identity:      bundle,
		Benchmark:     run.Spec.BenchmarkRef.Name,
		BenchmarkUID:  run.Spec.BenchmarkRef.UID,
		DatasetHash:   datasetHash,
		OrphanTimeout: atMost(run.Spec.Run.OrphanTimeout),
	}
	for _, target := range run.Spec.Run.Targets {
		if target.Name != client.Target {
			continue
		}
		config.KeepData = target.DataPolicy == v1alpha1.DataRetain
		for _, volume := range target.Volumes {
			if slices.Contains(on.Devices, volume.Name) {
				config.Volumes = append(config.Volumes, agent.VolumeConfig{Name: volume.Name, Path: objects.DevicePath(volume.Name), Device: true})
				continue
			}
			config.Volumes = append(config.Volumes, agent.VolumeConfig{
				Name: volume.Name, Path: objects.VolumePath(volume.Name), Folder: target.Path, ReadOnly: slices.Contains(on.ReadOnly, volume.Name),
				Expect: dataset.Expectation{MustBeMountPoint: true, NotRootFilesystem: true}})
		}
	}
	return config
}
