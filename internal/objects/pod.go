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
	// gracePeriod is what an agent has, after SIGTERM, to end its load and to remove its data.
	gracePeriod = 2 * time.Minute
	// deadlineMargin is what the end of a run may take beyond its deadlines: the data goes, and
	// ten minutes are allowed for that.
	deadlineMargin = 15 * time.Minute
	// The API's defaults, for a run that was made without them.
	defaultActiveDeadline = 48 * time.Hour
	defaultOrphanTimeout  = time.Hour
)

// Pod is one client. It does nothing by itself: its agent waits for the conductor, and leaves when
// nobody comes.
//
// There is no readiness probe. The conductor meets the agent by mTLS, which proves more than an open
// port does; a probe would cost up to a second of every start and, while a tool saturates the CPU,
// could only take a healthy client for a bad one.
func Pod(s Settings, run *v1alpha1.BenchmarkRun, c Client, on Storage) *corev1.Pod {
	wanted, name := template(run), PodName(run, c)
	labels := ClientLabels(run, c.Target, c.Index)
	labels[v1alpha1.LabelAttempt] = strconv.Itoa(c.Attempt)
	labels["sidecar.istio.io/inject"] = "false"
	maps.Copy(labels, kueueLabels(run))
	annotations := undisturbed()
	maps.Copy(annotations, kueueAnnotations(run))
	no, seconds, deadline := false, int64(gracePeriod.Seconds()), activeDeadlineSeconds(run)
	install, tool := installContainer(s, run), clientContainer(s, run, c, on)
	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: run.Namespace,
			Labels:          added(labels, added(wanted.Labels, s.ClientLabels)),
			Annotations:     added(annotations, wanted.Annotations),
			OwnerReferences: ownedByRun(run),
		},
		Spec: corev1.PodSpec{
			Hostname:                      hostname(name),
			RestartPolicy:                 corev1.RestartPolicyNever,
			ActiveDeadlineSeconds:         &deadline,
			TerminationGracePeriodSeconds: &seconds,
			AutomountServiceAccountToken:  &no,
			// Hundreds of services would be hundreds of variables in the tool's environment.
			EnableServiceLinks:        &no,
			SecurityContext:           podSecurity(run, targetOf(run, c.Target), on),
			NodeSelector:              added(map[string]string{corev1.LabelOSStable: "linux"}, wanted.NodeSelector),
			Affinity:                  on.onOneNode(run, affinity(run)),
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
		// Without it a pod on the node's network would not find the names of the cluster.
		pod.Spec.DNSPolicy = corev1.DNSClusterFirstWithHostNet
	}
	return pod.DeepCopy() // nothing of the run is shared with what a caller may change
}

// pullSecrets are those that a benchmark names, and those of the operator for images of its registries.
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

// undisturbed asks what moves pods about, or puts containers into them, to leave a measurement alone.
func undisturbed() map[string]string {
	return map[string]string{
		"cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
		"karpenter.sh/do-not-disrupt":                    "true",
		"sidecar.istio.io/inject":                        "false", // older versions read the annotation, newer ones the label
		"linkerd.io/inject":                              "disabled",
	}
}

// activeDeadlineSeconds is the backstop of a pod that neither operator nor agent ends. It is longer
// than what they may take, because it leaves no time to tidy up.
func activeDeadlineSeconds(run *v1alpha1.BenchmarkRun) int64 {
	return int64((length(run.Spec.Run.ActiveDeadline, defaultActiveDeadline) +
		length(run.Spec.Run.OrphanTimeout, defaultOrphanTimeout) + deadlineMargin).Seconds())
}

// length is a duration of the API, which admission has checked; what it never saw has the default.
func length(text v1alpha1.Duration, fallback time.Duration) time.Duration {
	parsed, err := text.Parse()
	if err != nil || parsed <= 0 {
		return fallback
	}
	return parsed
}
