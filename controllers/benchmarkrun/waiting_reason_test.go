package benchmarkrun

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/objects"
)

func unscheduled(message string) *corev1.Pod {
	return &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: message}}}}
}

func held(reason, message string) *corev1.Pod {
	return &corev1.Pod{Spec: corev1.PodSpec{NodeName: "a"}, Status: corev1.PodStatus{Phase: corev1.PodPending,
		InitContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"}}}},
		ContainerStatuses:     []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}}}}
}

// TestWaitingNamesTheCause checks that the message names the cause, so that users do not need kubectl describe.
func TestWaitingNamesTheCause(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	young := func(pod *corev1.Pod, reason string) *corev1.Pod {
		pod.CreationTimestamp = metav1.NewTime(now.Add(-startGrace / 2))
		pod.Status.Conditions[0].Reason = reason
		return pod
	}
	const conflict = `running PreBind plugin "VolumeBinding": Operation cannot be fulfilled on persistentvolumeclaims "data"`
	run := &v1alpha1.BenchmarkRun{}
	run.Spec.Run.Clients = v1alpha1.Clients{Count: 4, Spread: v1alpha1.SpreadOnePerNode}
	run.Spec.Run.Targets = make([]v1alpha1.Target, 2)
	for name, c := range map[string]struct {
		pod    *corev1.Pod
		want   string
		enough bool
	}{
		"too few nodes": {unscheduled("0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules."),
			"Unschedulable: 0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules. " +
				"(spec.run.clients.spread is OnePerNode, which needs 8 free nodes; PreferOnePerNode or Any lets clients share nodes)", true},
		"no CPU":                {unscheduled("0/1 nodes are available: 1 Insufficient cpu."), "Unschedulable: 0/1 nodes are available: 1 Insufficient cpu.", true},
		"unbound claim":         {unscheduled("pod has unbound immediate PersistentVolumeClaims"), "Unschedulable: pod has unbound immediate PersistentVolumeClaims", false},
		"a young unbound claim": {young(unscheduled("pod has unbound immediate PersistentVolumeClaims"), "Unschedulable"), "the pod's volumes are being created and bound", true},
		"a young pod":           {young(unscheduled(conflict), "SchedulerError"), "the pod is being scheduled", true},
		"a young pod, no CPU":   {young(unscheduled("0/1 nodes are available: 1 Insufficient cpu."), "Unschedulable"), "Unschedulable: 0/1 nodes are available: 1 Insufficient cpu.", true},
		"an old pod": {func() *corev1.Pod {
			pod := unscheduled(conflict)
			pod.Status.Conditions[0].Reason = "SchedulerError"
			return pod
		}(), "SchedulerError: " + conflict, true},
		"no image": {held("ImagePullBackOff", `Back-off pulling image "x"`), `ImagePullBackOff: Back-off pulling image "x"`, true},
		"no registry": {held("ErrImagePull", `failed to pull "storagebench.invalid/fio:v1"`), `ErrImagePull: failed to pull "storagebench.invalid/fio:v1" ` +
			"(images of storagebench.invalid are not in a registry: load them onto every node, or push them with `make push REGISTRY=...` " +
			"and install with the printed values)", true},
		"no message":       {held("CreateContainerConfigError", ""), "CreateContainerConfigError", true},
		"still being made": {held("PodInitializing", ""), "the pod is Pending on node a", false},
		"nothing known":    {&corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending}}, "the pod is Pending and not yet scheduled to a node", false},
	} {
		t.Run(name, func(t *testing.T) {
			if why, enough := waiting(c.pod, run, now); why != c.want || enough != c.enough {
				t.Errorf("%q, enough %t; want %q, %t", why, enough, c.want, c.enough)
			}
		})
	}
	run.Spec.Run.Clients.Spread = v1alpha1.SpreadAny
	if why, _ := waiting(unscheduled("didn't match pod anti-affinity rules"), run, now); strings.Contains(why, "spread") {
		t.Errorf("spread is Any already: %s", why)
	}
}

// TestAboutClaim checks that the message names the claim and its StorageClass, and quotes the event.
func TestAboutClaim(t *testing.T) {
	class := "fast"
	claim := func(phase corev1.PersistentVolumeClaimPhase) *corev1.PersistentVolumeClaim {
		made := &corev1.PersistentVolumeClaim{Status: corev1.PersistentVolumeClaimStatus{Phase: phase}}
		made.Name, made.Spec.StorageClassName = "data", &class
		return made
	}
	for want, got := range map[string]string{
		`claim data is Pending (class fast): ProvisioningFailed: storageclass.storage.k8s.io "fast" not found`: aboutClaim(claim(corev1.ClaimPending),
			&corev1.Event{Reason: "ProvisioningFailed", Message: `storageclass.storage.k8s.io "fast" not found`}),
		"claim data is Pending (class fast) until its pod is scheduled to a node": aboutClaim(claim(""),
			&corev1.Event{Reason: "WaitForFirstConsumer", Message: "waiting for first consumer to be created before binding"}),
		"claim data is Lost (class fast): its volume is lost": aboutClaim(claim(corev1.ClaimLost), nil),
		"": aboutClaim(claim(corev1.ClaimPending), nil),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestWaitingIsPrintable checks that the message contains no control characters: messages of the cluster quote users'
// input, such as the command of a container.
func TestWaitingIsPrintable(t *testing.T) {
	run := &v1alpha1.BenchmarkRun{}
	key := decide.ClientKey{Target: "data"}
	m := &member{pod: objects.Client{Target: "data", Attempt: 1}}
	clients := []decide.Client{{Key: key, Connection: decide.Connecting}}
	(&Reconciler{}).explain(t.Context(), run, &session{members: map[decide.ClientKey]*member{key: m}},
		map[string]*corev1.Pod{objects.PodName(run, m.pod): held("CreateContainerError", "no \x1b[31m\u202ecommand"+strings.Repeat("x", 5000))}, clients)
	if got := clients[0].Message; !strings.HasPrefix(got, "CreateContainerError: no [31mcommandxxx") || len(got) > 1024 {
		t.Errorf("%d bytes, %.60q", len(got), got)
	}
}

// TestLastWords checks that the reason for the end of a pod quotes its agent.
func TestLastWords(t *testing.T) {
	ended := func(code int32, reason, message string) *corev1.Pod {
		return &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{Name: "client",
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message}}}}}}
	}
	evicted := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "The node was low on resource: memory."}}
	for want, pod := range map[string]*corev1.Pod{
		"container client: exit code 137 (OOMKilled)":             ended(137, "OOMKilled", ""),
		"container client: exit code 1 (Error): error: no volume": ended(1, "Error", "error: no volume\n"),
		"Evicted: The node was low on resource: memory.":          evicted,
		"phase Failed": {Status: corev1.PodStatus{Phase: corev1.PodFailed}},
	} {
		if got := exitReason(pod); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
