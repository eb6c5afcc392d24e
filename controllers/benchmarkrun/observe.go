package benchmarkrun

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/internal/record"
)

// observation is all that was read for one decision.
type observation struct {
	snapshot decide.Snapshot
	// pods of the run by name, those of former attempts too.
	pods map[string]*corev1.Pod
	// storage is what the targets were found to be, where that is to be noted now; with it, or in its place, warnings
	// about the whole run.
	storage  []v1alpha1.StorageDescription
	warnings []v1alpha1.Warning
	// superseded says that another leader conducts the run; empty when none does.
	superseded string
}

// observe reads the pods and hears the agents.
func (r *Reconciler) observe(ctx context.Context, run *v1alpha1.BenchmarkRun, s *session) (observation, error) {
	seen := observation{pods: map[string]*corev1.Pod{}}
	pods, err := r.podsOf(ctx, run)
	if err != nil {
		return observation{}, err
	}
	for i := range pods {
		seen.pods[pods[i].Name] = &pods[i]
	}
	if err := r.inspect(ctx, run, s); err != nil {
		return observation{}, err
	}
	for _, key := range s.order {
		if err := r.look(ctx, run, s, s.members[key], seen.pods); err != nil {
			return observation{}, err
		}
	}
	clients := s.conductor.Clients()
	for i := range clients {
		one := s.members[clients[i].Key]
		one.reached = one.reached || clients[i].Connection == decide.Ready
		one.met = one.met || one.reached
		one.lost = one.lost || clients[i].Connection == decide.Lost
		if clients[i].Reason == agentapi.ReasonSuperseded {
			seen.superseded = clients[i].Message
		}
	}
	r.lookForGone(ctx, run, s, clients)
	r.explain(ctx, run, s, seen.pods, clients)
	r.quota(run, s, seen.pods, clients)
	snapshot, err := record.Snapshot(run, s.plan, clients)
	if err != nil {
		return observation{}, fmt.Errorf("read the run's facts: %w", err)
	}
	snapshot.Begun = begun(run, snapshot.Begun, s.now())
	snapshot.Enough = s.watcher.Look(s.plan, snapshot, record.Baselines(run), record.Documented(run))
	snapshot.Cancel = cancelled(run, pods)
	if s.claimed != nil {
		seen.warnings = s.claimed.warnings
		snapshot.Cancel = cmp.Or(snapshot.Cancel, s.claimed.refusal)
	}
	if snapshot.Cancel == nil && due(run, clients) {
		if seen.storage, snapshot.Cancel, err = r.describe(ctx, run, s, seen.pods); err != nil {
			return observation{}, err
		}
	}
	if snapshot.Cancel != nil && snapshot.EndingSince.IsZero() {
		snapshot.EndingSince = s.now()
	}
	seen.snapshot = snapshot
	return seen, nil
}

// podsOf lists the pods that the run has made.
func (r *Reconciler) podsOf(ctx context.Context, run *v1alpha1.BenchmarkRun) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := r.client.List(ctx, &list, client.InNamespace(run.Namespace), client.MatchingLabels{v1alpha1.LabelRun: run.Name})
	if err != nil {
		return nil, fmt.Errorf("list the run's pods: %w", err)
	}
	var own []corev1.Pod
	for _, pod := range list.Items {
		if metav1.IsControlledBy(&pod, run) {
			own = append(own, pod)
		}
	}
	return own, nil
}

// look brings a member up to what its pod shows: where its agent listens, or that it is gone.
func (r *Reconciler) look(ctx context.Context, run *v1alpha1.BenchmarkRun, s *session, m *member, pods map[string]*corev1.Pod) error {
	if m.lost {
		return nil
	}
	name := objects.PodName(run, m.pod)
	pod := pods[name]
	if pod == nil && (m.made || m.uid != "") {
		// The cache may not know of it yet; that it is gone has to be certain before another is made.
		pod = &corev1.Pod{}
		err := r.direct.Get(ctx, client.ObjectKey{Namespace: run.Namespace, Name: name}, pod)
		switch {
		case apierrors.IsNotFound(err):
			pod = endedOnly(s.former(m.uid))
		case err != nil:
			return fmt.Errorf("read pod %s: %w", name, err)
		default:
			pods[name] = pod
		}
	}
	switch {
	case pod == nil && (m.made || m.uid != ""):
		m.gone("its pod " + name + " was deleted")
	case pod == nil && wasThere(run, m):
		m.gone("its pod " + name + " is gone")
	case pod == nil:
		return nil
	case m.uid != "" && pod.UID != m.uid:
		m.gone("its pod " + name + " was deleted, and another one of that name was made by somebody")
	case pod.Status.Phase == corev1.PodFailed, pod.Status.Phase == corev1.PodSucceeded:
		m.uid = pod.UID
		// An agent that leaves data behind says so by its exit code.
		m.tidy = pod.Status.Phase == corev1.PodSucceeded
		m.gone("its pod " + name + " " + ended(pod) + ": " + lastWords(pod))
	default:
		m.uid = pod.UID
		if pod.Status.PodIP != "" {
			// It may not run yet; whoever is dialled early answers early.
			m.locate(net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(agentPort(pod))))
		}
	}
	return nil
}

// endedOnly is the pod if it had ended.
func endedOnly(pod *corev1.Pod) *corev1.Pod {
	if pod != nil && (pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded) {
		return pod
	}
	return nil
}

func ended(pod *corev1.Pod) string {
	if pod.DeletionTimestamp.IsZero() {
		return "ended"
	}
	return "was deleted"
}

// gone tells the conductor that the member's pod is no more.
func (m *member) gone(message string) {
	m.lost = true
	m.lose(message)
}

// wasThere says, after a restart of ours, whether a pod that is missing had been there: a step has
// been started since the client was last replaced, and no step starts before all clients are ready.
func wasThere(run *v1alpha1.BenchmarkRun, m *member) bool {
	key := decide.ClientKey{Target: m.pod.Target, Index: m.pod.Index}
	var since metav1.MicroTime
	for _, lost := range run.Status.LostClients {
		if lost.Replaced && isClient(lost, key) && lost.Time != nil {
			since = *lost.Time
		}
	}
	for _, fact := range run.Status.Steps {
		if fact.StartTime != nil && fact.StartTime.After(since.Time) {
			return true
		}
	}
	return false
}

// agentPort is where the pod says that its agent listens.
func agentPort(pod *corev1.Pod) int {
	for _, container := range pod.Spec.Containers {
		for _, port := range container.Ports {
			if port.Name == objects.AgentPortName {
				return int(port.ContainerPort)
			}
		}
	}
	return 0
}

// cancelled is why somebody wants the run to end before its time; nil when nobody does.
func cancelled(run *v1alpha1.BenchmarkRun, pods []corev1.Pod) *decide.Failure {
	if !run.DeletionTimestamp.IsZero() {
		return &decide.Failure{Reason: v1alpha1.ReasonStopped, Message: "the run was deleted while it was live"}
	}
	if replaced := replacedBy(run); replaced != nil {
		return replaced
	}
	for i := range pods {
		if ended := endedByKueue(&pods[i]); ended != nil {
			return ended
		}
	}
	for _, pod := range pods {
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.DisruptionTarget && condition.Status == corev1.ConditionTrue &&
				condition.Reason == corev1.PodReasonPreemptionByScheduler {
				return &decide.Failure{Reason: v1alpha1.ReasonPreempted,
					Message: fmt.Sprintf("pod %s was preempted: %s", pod.Name, condition.Message)}
			}
		}
	}
	return nil
}
