package benchmarkrun

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/discover"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/internal/queue"
	"github.com/storagebench/storagebench/internal/record"
)

const (
	// queueBeat is the interval at which a waiting run checks whether it may begin. Usually, a change to the run that
	// it is waiting for triggers the check sooner.
	queueBeat = 5 * time.Second
	// yieldBeat is the delay before a Raised run checks again whether it may begin, if it only waits for a younger
	// Raised run to return to Waiting. Package queue explains these states.
	yieldBeat = 50 * time.Millisecond
	// lingerTimeout limits how long a pod of an ended run keeps other runs waiting after the request to delete it. A
	// working kubelet ends the pod within its grace period of two minutes; on a failed node, the pod may never be
	// reported as ended.
	lingerTimeout = 10 * time.Minute
)

// takeTurn reports whether a run may begin. If not, the run's status states what it is waiting for.
//
// The decision is based on a list of runs that is read from the API server instead of a cache. The decision is written
// with the resource version that the run had before the list was read. Package queue explains why this is sufficient to
// keep runs from overlapping. The explanation considers two runs at a time, so it still holds if takeTurn reads a newer
// version of some runs than the list contains.
func (r *Reconciler) takeTurn(ctx context.Context, run *v1alpha1.BenchmarkRun) (bool, ctrl.Result, error) {
	for {
		before := run.DeepCopy()
		turn, err := r.turn(ctx, run)
		if err != nil {
			return false, ctrl.Result{}, err
		}
		// A run that waits for many others checks less often, to limit the number of reads.
		wait := ctrl.Result{RequeueAfter: min(time.Minute, queueBeat*time.Duration(1+turn.More))}
		switch turn.Verdict {
		case queue.Begin:
			return true, ctrl.Result{}, nil
		case queue.Stay:
			return false, ctrl.Result{RequeueAfter: yieldBeat}, nil
		case queue.Raise:
			record.Waiting(run, false, v1alpha1.ReasonItsTurn, "no run is ahead in the queue", time.Now())
		case queue.Wait:
			reason := v1alpha1.ReasonWaitsForQueue
			if turn.Volume {
				reason = v1alpha1.ReasonWaitsForVolume
			}
			record.Waiting(run, true, reason, turn.Message(run.Namespace), time.Now())
		}
		if err := r.store(ctx, before, run); err != nil {
			result, err := retryConflict(err, "record the position in the queue")
			return false, result, err
		}
		if turn.Verdict == queue.Wait {
			return false, wait, nil
		}
	}
}

// turn determines whether a run may begin, given all other unfinished runs.
func (r *Reconciler) turn(ctx context.Context, run *v1alpha1.BenchmarkRun) (queue.Turn, error) {
	self := r.entry(run)
	if self.Queue.ID == "" && len(self.Claims) == 0 {
		// The run has no queue and uses only claims that are created for it, so it does not have to wait for other runs.
		return queue.Turn{Verdict: queue.Begin}, nil
	}
	live, err := r.liveRuns(ctx, run.Namespace)
	if err != nil {
		return queue.Turn{}, err
	}
	var others []queue.Run
	for i := range live {
		one := &live[i]
		if other := r.entry(one); one.UID != run.UID && queue.Matters(self, other) {
			others = append(others, other)
		}
	}
	endedWithPods, err := r.endedWithPods(ctx, live)
	if err != nil {
		return queue.Turn{}, err
	}
	others = append(others, endedWithPods...)
	// First compare only the queues and the names of the claims, which requires no further reads. Read the volumes
	// behind the claims only if this comparison does not require the run to wait.
	if turn := queue.Of(self, others); turn.Verdict == queue.Wait || len(self.Claims) == 0 || len(others) == 0 {
		return turn, nil
	}
	self.Volumes, err = volumesOf(self, func(claim queue.Named) ([]queue.Named, error) {
		return r.volumesOfClaim(ctx, self.Namespace, claim)
	})
	if err != nil {
		return queue.Turn{}, err
	}
	for i := range others {
		if len(self.Volumes) == 0 {
			break
		}
		if others[i].Volumes, err = r.volumes.read(ctx, r, others[i]); err != nil {
			return queue.Turn{}, err
		}
	}
	return queue.Of(self, others), nil
}

// described returns a run as input for package queue, but without the queue, the claims and the volumes that the run
// may share with other runs.
func described(run *v1alpha1.BenchmarkRun) queue.Run {
	made := queue.Run{Namespace: run.Namespace, Name: run.Name, UID: string(run.UID), Created: run.CreationTimestamp.Time, State: queue.Waiting,
		Clients: len(run.Spec.Run.Targets) * clientsOf(run)}
	switch {
	case run.Status.StartTime != nil || run.Status.EndTime != nil:
		made.State = queue.Live
	case meta.IsStatusConditionFalse(run.Status.Conditions, v1alpha1.ConditionWaiting):
		made.State = queue.Raised
	}
	return made
}

// entry returns a run as input for package queue, including its queue and its claims. It reads no other objects, so the
// volumes behind the claims are missing.
func (r *Reconciler) entry(run *v1alpha1.BenchmarkRun) queue.Run {
	made := described(run)
	made.Queue = r.queueNamed(run.Namespace, run.Labels[v1alpha1.LabelQueue])
	seen := map[string]bool{}
	for _, target := range run.Spec.Run.Targets {
		for _, volume := range target.Volumes {
			if claimDeletedWithRun(volume) {
				continue // the volume's claims are created for this run, so no other run waits for them
			}
			for index := range claimsOf(run, &volume) {
				if name := objects.ClaimName(run, target, volume, index); !seen[name] {
					seen[name] = true
					made.Claims = append(made.Claims, claimNamed(run.Namespace, name))
				}
			}
		}
	}
	return made
}

// queueNamed returns the queue with the given name. The queue spans all namespaces if the operator's configuration
// lists its name. Otherwise, it belongs to the given namespace.
func (r *Reconciler) queueNamed(namespace, name string) queue.Named {
	switch {
	case name == "":
		return queue.Named{}
	case slices.Contains(r.options.SharedQueues, name):
		return queue.Named{ID: "/" + name, Text: "queue " + name}
	}
	return queue.Named{ID: namespace + "/" + name, Text: "queue " + name}
}

func claimNamed(namespace, name string) queue.Named {
	return queue.Named{ID: namespace + "/" + name, Text: "claim " + name}
}

// liveRuns returns the unfinished runs in the watched namespaces. It leaves out namespaces that the operator is not
// allowed to read, except the given one, for which it returns an error. If the operator watches all namespaces but is
// not allowed to list runs across namespaces, liveRuns returns only the runs of the given namespace.
func (r *Reconciler) liveRuns(ctx context.Context, namespace string) ([]v1alpha1.BenchmarkRun, error) {
	var all []v1alpha1.BenchmarkRun
	for _, watched := range r.watchedNamespaces() {
		live, err := r.liveRunsIn(ctx, watched)
		if apierrors.IsForbidden(err) && watched != namespace {
			if watched != metav1.NamespaceAll {
				continue
			}
			return r.liveRunsIn(ctx, namespace)
		}
		if err != nil {
			return nil, fmt.Errorf("list the runs that have not ended: %w", err)
		}
		all = append(all, live...)
	}
	return all, nil
}

// watchedNamespaces returns the namespaces to list one by one, or only NamespaceAll if all are watched.
func (r *Reconciler) watchedNamespaces() []string {
	if len(r.options.Namespaces) == 0 {
		return []string{metav1.NamespaceAll}
	}
	return r.options.Namespaces
}

// watches reports whether a namespace is watched.
func (r *Reconciler) watches(namespace string) bool {
	return len(r.options.Namespaces) == 0 || slices.Contains(r.options.Namespaces, namespace)
}

// liveRunsIn returns the unfinished runs in a namespace. It lists only their metadata, because listing the complete
// runs would transfer megabytes each time a run begins.
func (r *Reconciler) liveRunsIn(ctx context.Context, namespace string) ([]v1alpha1.BenchmarkRun, error) {
	var listed []metav1.PartialObjectMetadata
	unfinished := notOver()
	err := eachPage(ctx, r.direct, metadataList("BenchmarkRunList"), func() { listed = nil },
		func(page *metav1.PartialObjectMetadataList) { listed = append(listed, page.Items...) },
		client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: unfinished})
	if err != nil {
		return nil, err
	}
	live := make([]v1alpha1.BenchmarkRun, 0, len(listed))
	for i := range listed {
		run, err := r.readListed(ctx, &listed[i])
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read run %s: %w", listed[i].Name, err)
		}
		if unfinished.Matches(labels.Set(run.Labels)) {
			live = append(live, *run)
		}
	}
	return live, nil
}

// readListed returns the listed version of a run or a newer one: from the cache if it is there, otherwise from the API
// server. The run shares its contents with the cache: do not change it.
func (r *Reconciler) readListed(ctx context.Context, listed *metav1.PartialObjectMetadata) (*v1alpha1.BenchmarkRun, error) {
	run := &v1alpha1.BenchmarkRun{}
	err := r.client.Get(ctx, client.ObjectKeyFromObject(listed), run, client.UnsafeDisableDeepCopy)
	if err == nil && run.UID == listed.UID && !olderThan(run, listed) {
		return run, nil
	}
	run = &v1alpha1.BenchmarkRun{}
	return run, r.direct.Get(ctx, client.ObjectKeyFromObject(listed), run)
}

// endedWithPods returns runs that have ended or were deleted and still have pods. Their load may continue if the
// operator lost its connection to the agents. Pods that the operator did not create, or is not allowed to delete, do
// not count, because their author could use them to block all runs on their volumes indefinitely.
func (r *Reconciler) endedWithPods(ctx context.Context, live []v1alpha1.BenchmarkRun) ([]queue.Run, error) {
	var pods corev1.PodList
	// Skip the deep copy, because the pods are only read.
	if err := r.client.List(ctx, &pods, client.HasLabels{v1alpha1.LabelRun}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the pods of all runs: %w", err)
	}
	lives := make(map[types.UID]bool, len(live))
	for i := range live {
		lives[live[i].UID] = true
	}
	found := map[types.UID]*queue.Run{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		owner := metav1.GetControllerOf(pod)
		if owner == nil || owner.Kind != v1alpha1.BenchmarkRunKind || !mayRun(pod) || lives[owner.UID] ||
			!isLabelled(pod) || !r.hasProof(pod, owner.UID) {
			continue
		}
		one := found[owner.UID]
		if one == nil {
			one = &queue.Run{Namespace: pod.Namespace, Name: owner.Name, UID: string(owner.UID), State: queue.Live}
			var over v1alpha1.BenchmarkRun
			if err := r.client.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: owner.Name}, &over); err == nil && over.UID == owner.UID {
				one.Queue = r.queueNamed(over.Namespace, over.Labels[v1alpha1.LabelQueue])
			}
			found[owner.UID] = one
		}
		for _, volume := range pod.Spec.Volumes {
			if volume.PersistentVolumeClaim != nil {
				one.Claims = append(one.Claims, claimNamed(pod.Namespace, volume.PersistentVolumeClaim.ClaimName))
			}
		}
	}
	var all []queue.Run
	for _, one := range found {
		all = append(all, *one)
	}
	return all, nil
}

// mayRun reports whether a pod may still be running.
func mayRun(pod *corev1.Pod) bool {
	if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return false
	}
	if pod.DeletionTimestamp == nil {
		return true
	}
	// Count from the request to delete the pod. The end of its grace period can be years away, because the request may
	// set any period.
	requested := pod.DeletionTimestamp.Time
	if grace := pod.DeletionGracePeriodSeconds; grace != nil {
		requested = requested.Add(-time.Duration(*grace) * time.Second)
	}
	return time.Since(requested) < lingerTimeout
}

// volumesOf returns the identities of the storage behind a run's claims. It calls the function read to get the
// identities for each claim.
func volumesOf(run queue.Run, read func(claim queue.Named) ([]queue.Named, error)) (all []queue.Named, err error) {
	for _, claim := range run.Claims {
		volumes, err := read(claim)
		if err != nil {
			return nil, err
		}
		all = append(all, volumes...)
	}
	return all, nil
}

// volumesOfClaim returns the identities of the storage behind a claim, if it is bound and the operator may read the
// volume.
func (r *Reconciler) volumesOfClaim(ctx context.Context, namespace string, claim queue.Named) (all []queue.Named, err error) {
	name := strings.TrimPrefix(claim.ID, namespace+"/")
	found, err := r.readClaim(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	volume, err := r.volumeOf(ctx, found)
	if err != nil {
		return nil, err
	}
	for _, identity := range discover.Identities(volume) {
		all = append(all, queue.Named{ID: identity, Text: "the volume of claim " + name})
	}
	return all, nil
}

// withdraw ends a run that has not begun.
func (r *Reconciler) withdraw(ctx context.Context, run *v1alpha1.BenchmarkRun, why decide.Failure) (ctrl.Result, error) {
	before := run.DeepCopy()
	record.Waiting(run, false, why.Reason, why.Message, time.Now())
	record.Fail(run, why, time.Now())
	record.Finished(run, nil, time.Now())
	if err := r.store(ctx, before, run); err != nil {
		return retryConflict(err, "record that the run does not start")
	}
	return ctrl.Result{RequeueAfter: soon}, nil
}

// waitingRequests returns reconcile requests for all runs that have not begun, oldest first.
func (r *Reconciler) waitingRequests(ctx context.Context, _ client.Object) []ctrl.Request {
	var list v1alpha1.BenchmarkRunList
	if err := r.client.List(ctx, &list); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list waiting runs")
		return nil
	}
	runs := slices.DeleteFunc(list.Items, func(run v1alpha1.BenchmarkRun) bool {
		return run.Status.StartTime != nil || run.Status.EndTime != nil
	})
	slices.SortFunc(runs, func(a, b v1alpha1.BenchmarkRun) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	var requests []ctrl.Request
	for i := range runs {
		requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&runs[i])})
	}
	return requests
}
