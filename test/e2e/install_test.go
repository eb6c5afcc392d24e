package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/config/render"
	"github.com/storagebench/storagebench/internal/leader"
	"github.com/storagebench/storagebench/internal/version"
	"github.com/storagebench/storagebench/test/binaries"
)

// Helpers of the installation tests. Such a test runs alone: it removes the installation of the other tests and
// restores it at its end. Its operator has another namespace, so that the audit log distinguishes the two accounts.

// userTools are the tools of a user who installs the operator.
type userTools struct {
	*testing.T
	in *installation
	// namespace is the operator's.
	namespace string
}

// withoutSpaces waits until the namespaces of earlier tests are gone. Kubernetes looks at a namespace again only after
// half of its pods' grace period of 120 s.
func (u *userTools) withoutSpaces() {
	u.Helper()
	u.until("what tests before have made is gone", hang, func() bool {
		var spaces corev1.NamespaceList
		must(u.T, u.in.api.List(u.Context(), &spaces, client.HasLabels{spaceLabel}))
		return len(spaces.Items) == 0
	})
}

// helmRelease is the release of the operator that conducts the core's runs.
const helmRelease = "storagebench"

// installAlone replaces any installation by the chart with its default values. It returns the objects that the cluster
// had without an installation.
func (u *userTools) installAlone() (before []string) {
	u.Helper()
	u.withoutSpaces()
	u.kubectl("delete", "--wait", "--ignore-not-found", "-f", u.manifests(operatorNamespace, render.Metrics))
	before = u.inventory()
	u.install("--create-namespace")
	if said := u.helm("test", helmRelease, "--logs"); strings.Count(said, "ok: ") != 5 {
		u.Errorf("helm test does not say that five things are well:\n%s", said)
	}
	return before
}

// install installs or upgrades the release, and waits until its operator is ready.
func (u *userTools) install(arguments ...string) {
	u.Helper()
	u.helm(append([]string{"upgrade", "--install", helmRelease, u.chart(), "--wait", "--timeout", hang.String(),
		"--set", "image.registry=" + version.Registry}, arguments...)...)
	u.available(1)
}

// tools returns the tools of the user who installed the space's operator.
func (s *space) tools() *userTools {
	return &userTools{T: s.T, in: s.installation, namespace: operatorNamespace}
}

// manifests returns a file with the output of `make manifests` for a directory and a namespace.
func (u *userTools) manifests(namespace, folder string) string {
	u.Helper()
	text, err := render.Folder(os.DirFS(filepath.Join(u.in.root, "config")), folder, u.in.version)
	must(u.T, err)
	file := filepath.Join(u.TempDir(), "install.yaml")
	must(u.T, os.WriteFile(file, []byte(strings.ReplaceAll(string(text), operatorNamespace, namespace)), 0o644))
	return file
}

// kubectl runs a kubectl of the cluster's version as the cluster's administrator.
func (u *userTools) kubectl(arguments ...string) string {
	u.Helper()
	programs, err := binaries.Build(context.WithoutCancel(u.Context()), os.Stderr, binaries.Kubectl)
	must(u.T, err)
	return u.command(programs[binaries.Kubectl], arguments...)
}

var helmProgram = sync.OnceValues(func() (string, error) {
	root, err := binaries.RepositoryRoot()
	if err != nil {
		return "", err
	}
	command := exec.Command(filepath.Join(root, "hack", "tool"), "helm")
	command.Dir, command.Stderr = root, os.Stderr
	path, err := command.Output()
	return strings.TrimSpace(string(path)), err
})

func (u *userTools) helm(arguments ...string) string {
	u.Helper()
	program, err := helmProgram()
	must(u.T, err)
	return u.command(program, append([]string{"--namespace", u.namespace}, arguments...)...)
}

// command runs a command that must succeed.
func (u *userTools) command(program string, arguments ...string) string {
	u.Helper()
	// A cleanup runs after the test's own context has ended.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(u.Context()), hang+time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, program, arguments...)
	home := u.TempDir()
	command.Env = append(os.Environ(), "KUBECONFIG="+u.in.Kubeconfig, "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home,
		"NO_PROXY=*", "no_proxy=*")
	output, err := command.CombinedOutput()
	line := filepath.Base(program) + " " + strings.Join(arguments, " ")
	if err != nil {
		u.Fatalf("%s: %v\n%s", line, err, output)
	}
	u.Log(line)
	return string(output)
}

// chart returns the chart as in a release, with the version of the images.
func (u *userTools) chart() string {
	u.Helper()
	folder := u.TempDir()
	u.helm("package", filepath.Join(u.in.root, "charts", "storagebench"), "--version", "0.0.1-e2e", "--app-version", u.in.version, "--destination", folder)
	return filepath.Join(folder, "storagebench-0.0.1-e2e.tgz")
}

// operators returns the operator's pods, except those that are terminating.
func (u *userTools) operators() []corev1.Pod {
	u.Helper()
	var pods corev1.PodList
	must(u.T, u.in.api.List(u.Context(), &pods, client.InNamespace(u.namespace), client.MatchingLabels{"app.kubernetes.io/component": "operator"}))
	return slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil })
}

// leading returns the pod of the leader, or "".
func (u *userTools) leading() string {
	u.Helper()
	var lease coordinationv1.Lease
	err := u.in.api.Get(u.Context(), client.ObjectKey{Namespace: u.namespace, Name: leader.LeaseName}, &lease)
	if client.IgnoreNotFound(err) != nil {
		u.Fatal(err)
	}
	if err != nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	pod, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
	return pod
}

// log returns the logs of all operators.
func (u *userTools) log() string {
	u.Helper()
	var text strings.Builder
	for _, pod := range u.operators() {
		log, err := u.in.clients.CoreV1().Pods(u.namespace).GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(u.Context())
		if err != nil {
			log = []byte(err.Error())
		}
		text.Write(log)
	}
	return text.String()
}

func (u *userTools) until(what string, patience time.Duration, holds func() bool) {
	u.Helper()
	(&space{T: u.T, installation: u.in}).until(what, patience, holds)
}

// changing lists resources whose objects come and go by themselves, or with the volumes of a run.
var changing = []string{"events", "leases", "endpoints", "endpointslices", "persistentvolumes", "componentstatuses", "volumeattachments"}

// inventory returns every object of the cluster as "resource namespace/name", except those in the given namespaces.
func (u *userTools) inventory(but ...string) []string {
	u.Helper()
	found, err := discovery.ServerPreferredResources(u.in.clients.Discovery())
	must(u.T, err)
	reader, err := metadata.NewForConfig(u.in.Config)
	must(u.T, err)
	var all []string
	for _, group := range found {
		for _, resource := range group.APIResources {
			if !slices.Contains(resource.Verbs, "list") || slices.Contains(changing, resource.Name) {
				continue
			}
			version, err := schema.ParseGroupVersion(group.GroupVersion)
			must(u.T, err)
			list, err := reader.Resource(version.WithResource(resource.Name)).List(u.Context(), metav1.ListOptions{})
			if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
				continue // the kind was deleted, or cannot be listed
			}
			must(u.T, err)
			for _, object := range list.Items {
				if slices.Contains(but, object.Namespace) || resource.Name == "namespaces" && slices.Contains(but, object.Name) {
					continue
				}
				all = append(all, resource.Name+" "+object.Namespace+"/"+object.Name)
			}
		}
	}
	slices.Sort(all)
	return all
}

// more returns the entries of the second list that are not in the first.
func more(before, after []string) []string {
	return slices.DeleteFunc(slices.Clone(after), func(one string) bool { return slices.Contains(before, one) })
}

// sample applies a sample and its claim.
func (u *userTools) sample(s *space, name string) {
	u.Helper()
	samples := filepath.Join(u.in.root, "config", "samples")
	u.kubectl("apply", "--namespace", s.namespace, "-f", filepath.Join(samples, "claims", name), "-f", filepath.Join(samples, name))
}

// available waits until the Deployment has count available pods of its current template, and returns them.
func (u *userTools) available(count int) []corev1.Pod {
	u.Helper()
	var pods []corev1.Pod
	u.until("the operators are there", hang, func() bool {
		var deployment appsv1.Deployment
		must(u.T, u.in.api.Get(u.Context(), client.ObjectKey{Namespace: u.namespace, Name: operatorDeployment}, &deployment))
		pods = u.operators()
		status := deployment.Status
		return status.ObservedGeneration >= deployment.Generation && int(status.UpdatedReplicas) == count && int(status.AvailableReplicas) == count &&
			int(status.Replicas) == count && len(pods) == count
	})
	return pods
}

// undisturbed checks that a run did each step once, with its original pods, and measured without gaps.
func undisturbed(s *space, run *v1alpha1.BenchmarkRun, pods *census) {
	s.Helper()
	isComplete(s.T, run)
	done := map[string]bool{}
	for _, step := range run.Status.Steps {
		if strings.Contains(step.Message, "not all clients received the start command in time") {
			continue // repeated on a busy machine, before anything was measured
		}
		if step.State != v1alpha1.StepSucceeded || done[step.ID] {
			s.Errorf("step %s, attempt %d: %s %s", step.ID, step.Attempt, step.State, step.Message)
		}
		done[step.ID] = true
	}
	if len(run.Status.LostClients) > 0 {
		s.Errorf("lost clients: %+v", run.Status.LostClients)
	}
	clients := int(run.Spec.Run.Clients.Count) * len(run.Spec.Run.Targets)
	if names := pods.names(); len(names) != clients {
		s.Errorf("there were the pods %q, want %d", names, clients)
	}
	noGaps(s, run)
}

// leaves checks which objects exist in addition to those before.
func (u *userTools) leaves(before, want []string, but ...string) {
	u.Helper()
	var left []string
	for deadline := time.Now().Add(hang); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		// Pods and objects of deleted kinds take a little longer.
		left = more(before, u.inventory(but...))
		if len(want) > 0 {
			// Like all objects of the kinds, the library's profiles stay.
			left = slices.DeleteFunc(left, func(one string) bool { return strings.HasPrefix(one, "clusterworkloadprofiles /") })
		}
		if slices.Equal(left, want) {
			return
		}
	}
	u.Errorf("left are\n  %s\nwant\n  %s", strings.Join(left, "\n  "), strings.Join(want, "\n  "))
}
