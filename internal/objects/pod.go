package objects

import (
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

const (
	// gracePeriod is the maximum time that an agent has after SIGTERM to stop its load and remove its data.
	gracePeriod = 2 * time.Minute
	// deadlineMargin is the maximum time that a run needs to finish after its activeDeadline and orphanTimeout have
	// passed. This includes up to ten minutes for removing the data.
	deadlineMargin = 15 * time.Minute
	// Defaults of the API for the timeouts of a run. They apply to a run that was created without these fields.
	defaultActiveDeadline = 48 * time.Hour
	defaultOrphanTimeout  = time.Hour
)

// Pod returns the pod of one client. Its agent waits for the conductor and exits if the conductor does not connect.
//
// There is no readiness probe. The conductor connects to the agent by mTLS, which proves more than an open port. A
// probe would delay every start by up to a second, and could report a healthy client as unhealthy while a tool
// saturates the CPU.
func Pod(s Settings, run *v1alpha1.BenchmarkRun, c Client, on Storage) *corev1.Pod {
	wanted, name := template(run), PodName(run, c)
	labels := ClientLabels(run, c.Target, c.Index)
	labels[v1alpha1.LabelAttempt] = strconv.Itoa(c.Attempt)
	labels["sidecar.istio.io/inject"] = "false"
	maps.Copy(labels, kueueLabels(run))
	annotations := undisturbedAnnotations()
	maps.Copy(annotations, kueueAnnotations(run))
	no, seconds, deadline := false, int64(gracePeriod.Seconds()), activeDeadlineSeconds(run)
	install, tool := installContainer(s, run), clientContainer(s, run, c, on)
	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: run.Namespace,
			Labels:          mergeLabels(labels, mergeLabels(wanted.Labels, s.ClientLabels)),
			Annotations:     mergeLabels(annotations, wanted.Annotations),
			OwnerReferences: ownedByRun(run),
		},
		Spec: corev1.PodSpec{
			Hostname:                      hostname(name),
			RestartPolicy:                 corev1.RestartPolicyNever,
			ActiveDeadlineSeconds:         &deadline,
			TerminationGracePeriodSeconds: &seconds,
			AutomountServiceAccountToken:  &no,
			// Do not pass the services of the namespace to the tool as environment variables, because there may be hundreds.
			EnableServiceLinks:        &no,
			SecurityContext:           podSecurity(run, targetOf(run, c.Target), on),
			NodeSelector:              mergeLabels(map[string]string{corev1.LabelOSStable: "linux"}, wanted.NodeSelector),
			Affinity:                  on.onOneNode(run, affinity(run, on)),
			TopologySpreadConstraints: topologySpread(run, on),
			Tolerations:               wanted.Tolerations,
			PriorityClassName:         wanted.PriorityClassName,
			ImagePullSecrets:          pullSecrets(s, wanted.ImagePullSecrets, install.Image, tool.Image),
			InitContainers:            []corev1.Container{install},
			Containers:                []corev1.Container{tool},
			Volumes:                   volumes(run, c, on),
		},
	}
	if hostNetwork(run) {
		pod.Spec.HostNetwork = true
		// With the default DNS policy, a pod on the node's network cannot resolve the names of the cluster's Services.
		pod.Spec.DNSPolicy = corev1.DNSClusterFirstWithHostNet
	}
	return pod.DeepCopy() // the copy shares no data with the run, so the caller may change the pod
}

// pullSecrets returns the Secrets that a benchmark names and the operator's Secrets that apply to the images.
func pullSecrets(s Settings, named []corev1.LocalObjectReference, images ...string) []corev1.LocalObjectReference {
	all := slices.Clone(named)
	for _, secret := range s.PullSecrets {
		one := corev1.LocalObjectReference{Name: secret.Name}
		if slices.ContainsFunc(images, secret.fits) && !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return all
}

// undisturbedAnnotations returns annotations that ask autoscalers not to move the pod, and service meshes not to add
// containers to it.
func undisturbedAnnotations() map[string]string {
	return map[string]string{
		"cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
		"karpenter.sh/do-not-disrupt":                    "true",
		"sidecar.istio.io/inject":                        "false", // old versions of Istio read this annotation instead of the label
		"linkerd.io/inject":                              "disabled",
	}
}

// activeDeadlineSeconds returns the deadline after which Kubernetes stops a pod that neither the operator nor the agent
// has stopped. It is later than the deadlines of the operator and the agent, because a pod that Kubernetes stops may
// have too little time to clean up.
func activeDeadlineSeconds(run *v1alpha1.BenchmarkRun) int64 {
	return int64((length(run.Spec.Run.ActiveDeadline, defaultActiveDeadline) +
		length(run.Spec.Run.OrphanTimeout, defaultOrphanTimeout) + deadlineMargin).Seconds())
}

// length parses a duration that admission has validated, or returns the default if it is missing.
func length(text v1alpha1.Duration, fallback time.Duration) time.Duration {
	parsed, err := text.Parse()
	if err != nil || parsed <= 0 {
		return fallback
	}
	return parsed
}
