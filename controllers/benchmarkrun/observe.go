package benchmarkrun

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/objects"
)

// observation holds everything that was read for one decision.
type observation struct {
	snapshot decide.Snapshot
	// pods maps names to the run's pods, including the pods of earlier attempts.
	pods map[string]*corev1.Pod
	// storage describes the storage of each target. It is set only when the descriptions must be recorded (see due).
	// warnings holds the warnings from the inspection of the run's claims. They are about the run as a whole.
	storage  []v1alpha1.StorageDescription
	warnings []v1alpha1.Warning
	// superseded is the message of an agent that claims to obey another leader, or "" if no agent does.
	superseded string
}

// observe reads the pods and the state of the agents.
func (r *Reconciler) observe(ctx context.Context, run *v1alpha1.BenchmarkRun, s *session) (observation, error) {
	seen := observation{pods: map[string]*corev1.Pod{}}
	pods, err := r.podsOf(ctx, run)
	if err != nil {
		return observation{}, err
	}
	pods = r.ownPods(run, s, pods)
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
	r.findDeletedBenchmarks(ctx, run, s, clients)
	r.explain(ctx, run, s, seen.pods, clients)
	r.quota(run, s, seen.pods, clients)
	snapshot, err := s.driver.Snapshot(run, clients)
	if err != nil {
		return observation{}, fmt.Errorf("read the run's status: %w", err)
	}
	if snapshot.Begun.IsZero() { // no timeout has begun yet, so timeouts are measured from now
		snapshot.Begun = s.now()
	}
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
	seen.snapshot = snapshot
	return seen, nil
}

// podsOf returns the pods whose owner reference names the run as their controller. Anyone who may create pods can set
// this reference, so it does not prove that the operator created them (see hasProof). The pods share memory with the
// cache: do not change them.
func (r *Reconciler) podsOf(ctx context.Context, run *v1alpha1.BenchmarkRun) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := r.client.List(ctx, &list, client.InNamespace(run.Namespace), client.MatchingFields{indexRun: string(run.UID)},
		client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list the run's pods: %w", err)
	}
	return list.Items, nil
}

// filter returns the pods for which the function keep returns true. It reuses the memory of the given slice. Unlike
// slices.DeleteFunc, it passes pointers to keep instead of copying each pod.
func filter(pods []corev1.Pod, keep func(*corev1.Pod) bool) []corev1.Pod {
	kept := pods[:0]
	for i := range pods {
		if keep(&pods[i]) {
			kept = append(kept, pods[i])
		}
	}
	return kept
}

// look updates the session's information about a client from the client's pod: it records the address of the agent, or
// that the pod is gone.
func (r *Reconciler) look(ctx context.Context, run *v1alpha1.BenchmarkRun, s *session, m *member, pods map[string]*corev1.Pod) error {
	name := objects.PodName(run, m.pod)
	pod := pods[name]
	if m.lost {
		if pod == nil {
			pod = s.former(name, m.uid)
		}
		// The agent may have exited after the client was lost, for example because removeLost deleted the pod. If the pod
		// succeeded, the agent has removed its data.
		m.tidy = m.tidy || pod != nil && pod.UID == m.uid && pod.Status.Phase == corev1.PodSucceeded
		return nil
	}
	if pod == nil && m.uid != "" {
		// The pod may exist although the cache does not show it yet. Ask the API server, because a replacement may be
		// created only once this pod is known to be gone.
		pod = &corev1.Pod{}
		err := r.direct.Get(ctx, client.ObjectKey{Namespace: run.Namespace, Name: name}, pod)
		switch {
		case apierrors.IsNotFound(err):
			pod = endedOnly(s.former(name, m.uid))
		case err != nil:
			return fmt.Errorf("read pod %s: %w", name, err)
		case pod.UID == m.uid:
			pods[name] = pod
		}
	}
	switch {
	case pod == nil && m.uid != "":
		m.gone("pod " + name + " was deleted")
	case pod == nil && m.worked:
		m.gone("pod " + name + " is gone")
	case pod == nil:
		return nil
	case m.uid != "" && pod.UID != m.uid:
		m.gone("pod " + name + " was deleted and recreated externally")
	case endedOnly(pod) != nil, agentExit(pod) != nil:
		m.uid = pod.UID
		exit := agentExit(pod)
		// An agent that could not remove its data exits with an error, so the pod succeeds only if the data is gone.
		m.tidy = pod.Status.Phase == corev1.PodSucceeded || exit != nil && exit.ExitCode == 0
		m.gone("pod " + name + " " + ended(pod) + ": " + exitReason(pod))
	default:
		m.uid = pod.UID
		if pod.Status.PodIP != "" {
			// The agent might not be running yet. Dial now, so that the connection is made as soon as it runs.
			return s.connect(m, net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(agentPort(pod))))
		}
	}
	return nil
}

// endedOnly returns the pod if it has ended, or nil otherwise.
func endedOnly(pod *corev1.Pod) *corev1.Pod {
	if pod != nil && (pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded) {
		return pod
	}
	return nil
}

// agentExit returns the final state of the agent's container if another container, which a webhook added, keeps the pod
// running. Otherwise, it returns nil, because the final status of the pod contains more information, for example that
// the pod was evicted.
func agentExit(pod *corev1.Pod) *corev1.ContainerStateTerminated {
	var exit *corev1.ContainerStateTerminated
	others := false
	for i := range pod.Status.ContainerStatuses {
		if one := &pod.Status.ContainerStatuses[i]; one.Name == objects.ClientContainer {
			exit = one.State.Terminated
		} else if one.State.Terminated == nil {
			others = true
		}
	}
	if !others {
		return nil
	}
	return exit
}

func ended(pod *corev1.Pod) string {
	if pod.DeletionTimestamp.IsZero() {
		return "ended"
	}
	return "was deleted"
}

// gone tells the conductor that the agent of a client no longer exists.
func (m *member) gone(message string) {
	m.lost = true
	m.agent.Lose(message)
}

// wasThere reports, after a restart of the operator, whether a missing pod existed before the restart. If a step has
// started after the client was last replaced, the pod existed, because a step starts only when all clients are ready.
func wasThere(run *v1alpha1.BenchmarkRun, m *member) bool {
	key := decide.ClientKey{Target: m.pod.Target, Index: m.pod.Index}
	var since metav1.MicroTime
	for _, lost := range run.Status.LostClients {
		if lost.Replaced && isClient(lost, key) && lost.Time != nil {
			since = *lost.Time
		}
	}
	return slices.ContainsFunc(run.Status.Steps, func(fact v1alpha1.StepStatus) bool {
		return fact.StartTime != nil && fact.StartTime.After(since.Time)
	})
}

// agentPort returns the port that the agent listens on according to the pod, or 0.
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

// cancelled returns the reason why the run must end early, or nil.
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
