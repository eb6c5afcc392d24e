package benchmarkrun

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/conductor"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/internal/version"
)

const (
	// eventReadInterval is the interval at which the events of pods that do not start are read.
	eventReadInterval = 5 * time.Second
	// startGrace is the time after the creation of a pod during which scheduling errors are not shown. While a volume
	// is being bound, it is normal for the scheduler to fail and retry.
	startGrace = 10 * time.Second
	// maxEventReads is the maximum number of pods whose events are read in one interval, so that a run with many
	// clients does not use up the request rate that all runs share.
	maxEventReads = 8
)

// explain looks up why clients are not connected yet. It sets the message of each such client to the reason that the
// cluster reports. If a pod waits for a Secret that was deleted, explain makes the next reconcile create it again.
func (r *Reconciler) explain(ctx context.Context, run *v1alpha1.BenchmarkRun, s *session, pods map[string]*corev1.Pod, clients []decide.Client) {
	asks := 0
	if time.Since(s.eventsReadAt) > eventReadInterval {
		asks = maxEventReads
	}
	for i := range clients {
		if clients[i].Connection != decide.Connecting {
			continue
		}
		m := s.members[clients[i].Key]
		pod := pods[objects.PodName(run, m.pod)]
		switch {
		case pod == nil, m.uncreated:
			// If the pod or its Secret could not be created, m.why already holds the reason.
		case pod.Status.Phase == corev1.PodRunning:
			// The pod is running, so the conductor's message about its agent is more recent than m.why.
			m.why = ""
		default:
			why, enough := waiting(pod, run, time.Now())
			if !enough && asks > 0 {
				asks--
				s.eventsReadAt = time.Now()
				why = cmp.Or(r.lastWarning(ctx, run, pod), why)
				if lacksSecret(pod, why) {
					m.served = false // the next reconcile creates the Secret again
				}
			} else if !enough {
				why = cmp.Or(m.why, why)
			}
			m.why = why
		}
		if m.why != "" {
			clients[i].Message = conductor.Printable(m.why)
		}
	}
}

// lacksSecret reports whether an event shows that a pod cannot start because its Secret was deleted. It uses the event
// because the operator does not read Secrets.
func lacksSecret(pod *corev1.Pod, event string) bool {
	return strings.Contains(event, fmt.Sprintf("secret %q not found", pod.Name))
}

// waiting returns the reason why a pod is not running, according to its status. enough is true if the reason is
// specific enough to be shown without reading the pod's events. Otherwise, an event may give a better reason.
func waiting(pod *corev1.Pod, run *v1alpha1.BenchmarkRun, now time.Time) (why string, enough bool) {
	starts := now.Sub(pod.CreationTimestamp.Time) < startGrace
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			switch {
			case starts && aboutClaims(condition.Message):
				return "the pod's volumes are being created and bound", true
			case starts && condition.Reason == corev1.PodReasonSchedulerError:
				return "the pod is being scheduled", true
			}
			return fmt.Sprintf("%s: %s%s", condition.Reason, condition.Message, spreadHint(run, condition.Message)), !aboutClaims(condition.Message)
		}
	}
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if state := status.State.Waiting; state != nil && state.Reason != "" &&
			state.Reason != "PodInitializing" && state.Reason != "ContainerCreating" {
			return strings.TrimSuffix(fmt.Sprintf("%s: %s", state.Reason, state.Message), ": ") + imageHint(state.Message), true
		}
	}
	if pod.Spec.NodeName == "" {
		return fmt.Sprintf("the pod is %s and not yet scheduled to a node", pod.Status.Phase), false
	}
	return fmt.Sprintf("the pod is %s on node %s", pod.Status.Phase, pod.Spec.NodeName), false
}

// imageHint returns advice for an image that cannot be pulled because it is not in a registry.
func imageHint(message string) string {
	if !strings.Contains(message, version.Registry+"/") {
		return ""
	}
	return fmt.Sprintf(" (images of %s are not in a registry: load them onto every node, or push them with `make push "+
		"REGISTRY=...` and install with the printed values)", version.Registry)
}

func aboutClaims(message string) bool { return strings.Contains(message, "PersistentVolumeClaims") }

// spreadHint returns advice if the cluster has too few free nodes to run each client on a node of its own.
func spreadHint(run *v1alpha1.BenchmarkRun, message string) string {
	if run.Spec.Run.Clients.Spread != v1alpha1.SpreadOnePerNode || !strings.Contains(message, "anti-affinity") {
		return ""
	}
	return fmt.Sprintf(" (spec.run.clients.spread is OnePerNode, which needs %d free nodes; PreferOnePerNode or Any lets clients share nodes)",
		int(run.Spec.Run.Clients.Count)*len(run.Spec.Run.Targets))
}

// lastWarning returns the reason why a claim of the pod is unbound, or else the newest warning event about the pod
// itself. The claim comes first because its event says what is wrong, whereas the pod's event only says that the claim
// is not bound. lastWarning returns "" if there is no such event or the events cannot be read.
func (r *Reconciler) lastWarning(ctx context.Context, run *v1alpha1.BenchmarkRun, pod *corev1.Pod) string {
	for _, volume := range pod.Spec.Volumes {
		if volume.PersistentVolumeClaim == nil {
			continue
		}
		var claim corev1.PersistentVolumeClaim
		key := client.ObjectKey{Namespace: run.Namespace, Name: volume.PersistentVolumeClaim.ClaimName}
		if err := r.direct.Get(ctx, key, &claim); err != nil || claim.Status.Phase == corev1.ClaimBound {
			continue
		}
		if why := aboutClaim(&claim, r.newestEvent(ctx, run.Namespace, claim.UID)); why != "" {
			return why
		}
	}
	if event := r.newestEvent(ctx, run.Namespace, pod.UID); event != nil && event.Type == corev1.EventTypeWarning {
		return fmt.Sprintf("%s: %s", event.Reason, event.Message)
	}
	return ""
}

// aboutClaim explains why a claim is unbound. It uses the claim's newest event or, if there is none, reports that the
// claim's volume is lost. It returns "" if there is no event and the volume is not lost.
func aboutClaim(claim *corev1.PersistentVolumeClaim, event *corev1.Event) string {
	subject := fmt.Sprintf("claim %s is %s", claim.Name, cmp.Or(claim.Status.Phase, corev1.ClaimPending))
	if claim.Spec.StorageClassName != nil && *claim.Spec.StorageClassName != "" {
		subject = fmt.Sprintf("%s (class %s)", subject, *claim.Spec.StorageClassName)
	}
	switch {
	case event != nil && event.Reason == "WaitForFirstConsumer":
		return subject + " until its pod is scheduled to a node"
	case event != nil:
		return fmt.Sprintf("%s: %s: %s", subject, event.Reason, event.Message)
	case claim.Status.Phase == corev1.ClaimLost:
		return subject + ": its volume is lost"
	}
	return ""
}

// newestEvent returns the newest warning about an object, or its newest event if there is no warning. It returns nil if
// there are no events or they cannot be read. Errors are ignored, because callers only show the event in a message or
// use it to retry the creation of a Secret.
func (r *Reconciler) newestEvent(ctx context.Context, namespace string, uid types.UID) *corev1.Event {
	var list corev1.EventList
	err := r.direct.List(ctx, &list, client.InNamespace(namespace),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("involvedObject.uid", string(uid))})
	if err != nil {
		return nil
	}
	warns := func(e *corev1.Event) bool { return e.Type == corev1.EventTypeWarning }
	var newest *corev1.Event
	for i := range list.Items {
		event := &list.Items[i]
		if newest == nil || warns(event) && !warns(newest) || warns(event) == warns(newest) && eventTime(event).After(eventTime(newest)) {
			newest = event
		}
	}
	return newest
}

func eventTime(event *corev1.Event) time.Time {
	switch {
	case event.Series != nil:
		return event.Series.LastObservedTime.Time
	case !event.LastTimestamp.IsZero():
		return event.LastTimestamp.Time
	case !event.EventTime.IsZero():
		return event.EventTime.Time
	}
	return event.CreationTimestamp.Time
}

// exitReason returns the reason why a pod, or the agent in it, ended.
func exitReason(pod *corev1.Pod) string {
	var words []string
	if pod.Status.Reason != "" || pod.Status.Message != "" {
		words = append(words, strings.Trim(pod.Status.Reason+": "+pod.Status.Message, ": "))
	}
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		ended := status.State.Terminated
		if ended == nil || ended.ExitCode == 0 && ended.Reason == "Completed" {
			continue
		}
		said := fmt.Sprintf("container %s: exit code %d", status.Name, ended.ExitCode)
		if ended.Reason != "" {
			said += " (" + ended.Reason + ")"
		}
		if message := strings.TrimSpace(ended.Message); message != "" {
			said += ": " + message
		}
		words = append(words, said)
	}
	switch {
	case len(words) > 0:
		return strings.Join(words, "; ")
	case agentExit(pod) != nil:
		return "the agent exited"
	}
	return "phase " + string(pod.Status.Phase)
}
