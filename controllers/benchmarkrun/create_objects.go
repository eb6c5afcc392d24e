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
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agent"
	"github.com/storagebench/storagebench/internal/dataset"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/identity"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/internal/record"
)

const (
	// parallelCreates is the number of clients that are created in parallel. Creating a client takes two requests.
	parallelCreates = 8
	// maxCreates limits how many objects one reconcile creates, so that other runs get their turn.
	maxCreates = 64
)

// populate creates the missing objects of a run, unless the run is ending. It reports whether more objects can be
// created immediately. If an object cannot be created, populate records the error as the reason why the client is
// missing, and the next reconcile tries again.
func (r *Reconciler) populate(ctx context.Context, run *v1alpha1.BenchmarkRun, s *session, seen observation) (more bool, err error) {
	absent := s.absentClients()
	if s.claimed == nil || s.inspectAgain || len(absent) == 0 || ending(run) || !run.DeletionTimestamp.IsZero() {
		return false, nil
	}
	left, err := r.makeCommon(ctx, run, s, maxCreates)
	if errors.Is(err, errLeaving) {
		for _, key := range absent {
			// A claim that is being deleted remains until the client's former pod is gone, so delete that pod.
			if before := formerPod(run, s.members[key], seen.pods); before != nil {
				err = errors.Join(err, r.remove(ctx, before))
			}
		}
	}
	if err != nil {
		s.explainAbsent(err)
		return false, ignoreRefusal(err)
	}
	if len(s.common) > 0 {
		return true, nil
	}
	const each = 2 // objects per client: a pod and its Secret
	batch := absent[:min(len(absent), left/each)]
	slots := make(chan struct{}, parallelCreates)
	problems := make([]error, len(batch))
	var workers sync.WaitGroup
	for i, key := range batch {
		workers.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			m := s.members[key]
			problems[i] = r.makeClient(ctx, run, s, m, seen.pods)
			if m.uncreated = problems[i] != nil; m.uncreated {
				m.why = problems[i].Error()
			}
		})
	}
	workers.Wait()
	served := 0
	for i, key := range batch {
		problems[i] = ignoreRefusal(problems[i])
		if s.members[key].served {
			served++
		}
	}
	return served == len(batch) && len(batch) < len(absent), errors.Join(problems...)
}

// absentClients returns the clients whose pods the operator has not created yet.
func (s *session) absentClients() []decide.ClientKey {
	return slices.DeleteFunc(slices.Clone(s.order), func(key decide.ClientKey) bool { return s.members[key].lost || s.members[key].served })
}

// explainAbsent records an error as the reason why the absent clients are missing.
func (s *session) explainAbsent(err error) {
	for _, key := range s.absentClients() {
		s.members[key].why = err.Error()
	}
}

// ending reports whether the run is ending and therefore creates no more objects.
func ending(run *v1alpha1.BenchmarkRun) bool {
	return finishing(run) || run.Status.EndTime != nil ||
		meta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionFailed)
}

// ignoreRefusal drops errors that an immediate retry cannot fix, for example because a quota is exceeded, Pod Security
// or a webhook rejects the pod, or the namespace is being deleted. The status reports these errors, and the next
// regular reconcile tries again.
func ignoreRefusal(err error) error {
	switch {
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsNotFound(err),
		errors.Is(err, errNotOurs), errors.Is(err, errLeaving):
		return nil
	case apierrors.IsBadRequest(err): // a webhook rejected the object without setting a status code
		return nil
	}
	return err
}

// errNotOurs means that an object with this name exists, but the operator did not create it.
var errNotOurs = errors.New("an object with this name exists, but this operator did not create it")

// errLeaving means that an object cannot be created yet, because a previous object with this name is still being
// deleted.
var errLeaving = errors.New("a previous object with this name is still being deleted")

// commonOf returns the network policy and the claims of a run, in order of creation.
func (r *Reconciler) commonOf(run *v1alpha1.BenchmarkRun) []client.Object {
	all := []client.Object{objects.NetworkPolicy(r.options.Settings, run)}
	for _, claim := range objects.Claims(run) {
		all = append(all, claim)
	}
	return all
}

// makeCommon creates the network policy and the claims of a run that are missing, up to the given number of objects. It
// returns how many more objects the reconcile may create. An object that is being deleted counts as missing only if a
// client without a pod needs it.
func (r *Reconciler) makeCommon(
	ctx context.Context, run *v1alpha1.BenchmarkRun, s *session, most int,
) (left int, err error) {
	for left = most; left > 0 && len(s.common) > 0; left-- {
		object := s.common[0]
		kind := object.GetObjectKind().GroupVersionKind().Kind
		if _, err := r.ensure(ctx, object); err != nil && (!errors.Is(err, errLeaving) || s.awaits(run, object)) {
			return 0, fmt.Errorf("create %s %s: %w", kind, object.GetName(), err)
		}
		s.common = slices.Delete(s.common, 0, 1)
	}
	return left, nil
}

// awaits reports whether a client whose pod does not exist yet needs an object. The labels of the object select the
// clients that use it.
func (s *session) awaits(run *v1alpha1.BenchmarkRun, object client.Object) bool {
	uses := labels.SelectorFromSet(object.GetLabels())
	return slices.ContainsFunc(s.absentClients(), func(key decide.ClientKey) bool {
		return s.members[key].uid == "" && uses.Matches(labels.Set(objects.ClientLabels(run, key.Target, key.Index)))
	})
}

// ensure creates an object, or verifies that the operator created the existing object of that name for the same
// owner and that it is not being deleted. It reports whether this call created it.
func (r *Reconciler) ensure(ctx context.Context, object client.Object) (created bool, err error) {
	owner := object.GetOwnerReferences()[0].UID
	if err := r.addProof(object, owner); err != nil {
		return false, err
	}
	there, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		return false, fmt.Errorf("%T is not a Kubernetes object", object)
	}
	err = r.client.Create(ctx, object)
	if !apierrors.IsAlreadyExists(err) {
		return err == nil, err
	}
	if err := r.direct.Get(ctx, client.ObjectKeyFromObject(object), there); err != nil {
		return false, err
	}
	if !r.hasProof(there, owner) {
		remedy := "delete the object"
		if _, is := object.(*corev1.PersistentVolumeClaim); is {
			remedy = "rename the volume, or set claimName to use the existing claim" // do not suggest deleting a claim: it may hold data
		}
		return false, fmt.Errorf("%w: %s", errNotOurs, remedy)
	}
	if !there.GetDeletionTimestamp().IsZero() {
		return false, errLeaving
	}
	object.SetUID(there.GetUID())
	return false, nil
}

func ownedBy(object metav1.Object, uid types.UID) bool {
	return slices.ContainsFunc(object.GetOwnerReferences(), func(reference metav1.OwnerReference) bool { return reference.UID == uid })
}

// makeClient creates the pod of a client and the Secret with its identity, unless they exist.
func (r *Reconciler) makeClient(ctx context.Context, run *v1alpha1.BenchmarkRun, s *session, m *member, pods map[string]*corev1.Pod) error {
	pod := pods[objects.PodName(run, m.pod)]
	if pod == nil {
		if m.uid != "" {
			return nil
		}
		if before := formerPod(run, m, pods); before != nil {
			m.why = fmt.Sprintf("waiting for deletion of the previous pod %s (node %s)", before.Name, before.Spec.NodeName)
			if err := r.remove(ctx, before); err != nil {
				return fmt.Errorf("delete the previous pod %s: %w", before.Name, err)
			}
			return nil
		}
		pod = objects.Pod(r.options.Settings, run, m.pod, s.storage(m.pod.Target))
		created, err := r.ensure(ctx, pod)
		if err != nil {
			return fmt.Errorf("create pod %s: %w", pod.Name, err)
		}
		m.uid, m.noSecret = pod.UID, created
	}
	config, err := agentConfig(run, s, m.pod)
	if err != nil {
		return err
	}
	secret := objects.Secret(pod, config)
	// The operator creates Secrets but never reads them. It assumes that an existing Secret is left over from an
	// earlier attempt to create this client. A Secret of any other origin lacks the correct identity, so the agent
	// cannot authenticate.
	err = r.client.Create(ctx, secret)
	switch {
	case apierrors.IsAlreadyExists(err) && m.noSecret:
		return fmt.Errorf("create Secret %s: %w: delete the object", secret.Name, errNotOurs)
	case err != nil && !apierrors.IsAlreadyExists(err):
		m.noSecret = m.noSecret && ignoreRefusal(err) == nil
		return fmt.Errorf("create Secret %s: %w", secret.Name, err)
	}
	m.served, m.noSecret = true, false
	return nil
}

// removeLost deletes the pods of lost clients that the run continues without. A lost client may merely be unreachable,
// and its load would then affect later figures. Call removeLost after the status is stored; otherwise, a restarted
// operator could create these pods again.
func (r *Reconciler) removeLost(
	ctx context.Context, run *v1alpha1.BenchmarkRun, s *session, pods map[string]*corev1.Pod,
) error {
	if run.Spec.Run.Clients.OnLoss != v1alpha1.OnLossContinueDegraded || ending(run) {
		return nil
	}
	var problems []error
	for _, key := range s.order {
		m := s.members[key]
		pod := pods[objects.PodName(run, m.pod)]
		if !m.lost || pod == nil || endedOnly(pod) != nil || record.LossOf(run, key) == nil {
			continue
		}
		if s.now().Before(m.refusedAt.Add(deletionBeat)) {
			continue
		}
		if err := r.remove(ctx, pod); err != nil {
			if ignoreRefusal(err) == nil {
				m.refusedAt = s.now()
			}
			problems = append(problems, fmt.Errorf("delete pod %s of a lost client: %w", pod.Name, err))
		}
	}
	return errors.Join(problems...)
}

// formerPod returns a pod of the same client that must be gone before its replacement is created, or nil.
func formerPod(run *v1alpha1.BenchmarkRun, m *member, pods map[string]*corev1.Pod) *corev1.Pod {
	for attempt := m.pod.Attempt - 1; attempt > 0; attempt-- {
		former := m.pod
		former.Attempt = attempt
		pod := pods[objects.PodName(run, former)]
		if pod == nil || pod.DeletionTimestamp != nil && len(pod.Finalizers) > 0 && endedOnly(pod) != nil {
			// Do not wait until this pod is gone: a finalizer, such as Kueue's, may keep an ended pod until its
			// replacement exists.
			continue
		}
		return pod
	}
	return nil
}

// remove deletes an object. The UID is a precondition, so that a new object with the same name is not deleted.
func (r *Reconciler) remove(ctx context.Context, object client.Object) error {
	if !object.GetDeletionTimestamp().IsZero() {
		return nil
	}
	err := r.client.Delete(ctx, object, client.Preconditions{UID: new(object.GetUID())}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return ignoreUnlabelled(ctx, object, err)
}

// ignoreUnlabelled ignores err if the API server refuses to change or delete an object that has lost LabelBenchmark.
// The admission policy for the operator protects every object without this label. If the refusal counted, a user who
// removes the label would keep the run from ending and other runs from starting. Kubernetes deletes the object with the
// run.
func ignoreUnlabelled(ctx context.Context, object client.Object, err error) error {
	if err == nil || isLabelled(object) || ignoreRefusal(err) != nil {
		return err
	}
	ctrl.LoggerFrom(ctx).Error(err, "Not deleting an object that has lost its label; Kubernetes deletes it with its run",
		"object", object.GetName(), "label", v1alpha1.LabelBenchmark)
	return nil
}

// isLabelled reports whether an object has LabelBenchmark. The admission policy does not let the operator delete an
// object without it.
func isLabelled(object client.Object) bool {
	_, labelled := object.GetLabels()[v1alpha1.LabelBenchmark]
	return labelled
}

// agentConfig returns everything that an agent needs to know before the operator connects, as JSON.
func agentConfig(run *v1alpha1.BenchmarkRun, s *session, client objects.Client) ([]byte, error) {
	bundle, err := s.authority.Client(client.Target, client.Index)
	if err != nil {
		return nil, fmt.Errorf("create the identity of client %s/%d: %w", client.Target, client.Index, err)
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
		OrphanTimeout: parseOrMax(run.Spec.Run.OrphanTimeout),
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
