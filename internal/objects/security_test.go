package objects_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/test/builders"
)

// restricted returns the violations of the Pod Security level "restricted", as found by the API server's own code.
func restricted(t *testing.T, pod *corev1.Pod) string {
	t.Helper()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var complaints []string
	for _, result := range evaluator.EvaluatePod(api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}, &pod.ObjectMeta, &pod.Spec) {
		if !result.Allowed {
			complaints = append(complaints, result.ForbiddenReason+" ("+result.ForbiddenDetail+")")
		}
	}
	return strings.Join(complaints, "; ")
}

// TestPodSecurity checks that every pod complies with "restricted" unless the user requested otherwise.
func TestPodSecurity(t *testing.T) {
	root := int64(0)
	refused := map[string]*builders.BenchmarkBuilder{
		"runAsUser=0": usual().Mutate(templated(v1alpha1.PodTemplate{SecurityContext: &v1alpha1.ClientSecurityContext{RunAsUser: &root}})),
		"host":        usual().Mutate(templated(v1alpha1.PodTemplate{HostNetwork: yes()})),
	}
	for name, benchmark := range kinds() {
		if name == "host-network" || name == "as-root" {
			continue // these violate it, see refused
		}
		pod := objects.Pod(settings, runOf(benchmark), objects.Client{Target: benchmark.Obj().Spec.Run.Targets[0].Name, Attempt: 1}, found[name])
		if complaint := restricted(t, pod); complaint != "" {
			t.Errorf("%s: %s", name, complaint)
		}
	}
	for complaint, benchmark := range refused {
		pod := objects.Pod(settings, runOf(benchmark), objects.Client{Target: "data", Attempt: 1}, objects.Storage{})
		if got := restricted(t, pod); !strings.Contains(got, complaint) {
			t.Errorf("want a complaint about %s, got %q", complaint, got)
		}
	}
}

// kinds returns every kind of pod that a run can have: those with golden files, and those of other engines, which
// differ only in the configuration of their agent.
func kinds() map[string]*builders.BenchmarkBuilder {
	size := resource.MustParse("1Gi")
	root, all := int64(0), maps.Clone(runs)
	all["command"] = usual().Steady("zip", "1m").WithLoad(v1alpha1.Engine{Command: &v1alpha1.CommandProfile{
		Command: []string{"zip", "-r", "data.zip", "data"}, Setup: []string{"agent", "files"}, DatasetSize: &size}})
	all["as-root"] = usual().Mutate(templated(v1alpha1.PodTemplate{SecurityContext: &v1alpha1.ClientSecurityContext{RunAsUser: &root}}))
	return all
}

// beyond lists what a pod has that "restricted" allows but a client does not need. From the cluster, a client needs
// only its own Secret and the claims under test; from the node, only directories of limited size.
func beyond(pod *corev1.Pod, hostNetwork bool) []string {
	var wrong []string
	complain := func(is bool, format string, arguments ...any) {
		if is {
			wrong = append(wrong, fmt.Sprintf(format, arguments...))
		}
	}
	spec := &pod.Spec
	complain(spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken, "a service account's token is mounted")
	complain(spec.ServiceAccountName != "", "it has the service account %s", spec.ServiceAccountName)
	complain(spec.HostNetwork != hostNetwork || spec.HostPID || spec.HostIPC, "it is in namespaces of the node")
	complain(len(spec.EphemeralContainers) > 0, "it has ephemeral containers")
	complain(spec.EnableServiceLinks == nil || *spec.EnableServiceLinks, "it is told of all services of its namespace")
	for _, volume := range spec.Volumes {
		source := volume.VolumeSource
		switch {
		case source.PersistentVolumeClaim != nil:
		case source.Secret != nil:
			complain(source.Secret.SecretName != pod.Name, "volume %s is of the Secret %s", volume.Name, source.Secret.SecretName)
		case source.EmptyDir != nil:
			complain(source.EmptyDir.SizeLimit == nil, "volume %s has no limit", volume.Name)
		default:
			complain(true, "volume %s is neither a claim, nor its Secret, nor an empty folder", volume.Name)
		}
	}
	for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
		security := container.SecurityContext
		if security == nil {
			complain(true, "container %s has no security context", container.Name)
			continue
		}
		complain(security.ReadOnlyRootFilesystem == nil || !*security.ReadOnlyRootFilesystem, "the root of container %s can be written", container.Name)
		complain(security.AllowPrivilegeEscalation == nil || *security.AllowPrivilegeEscalation, "container %s may get more rights", container.Name)
		complain(security.Privileged != nil && *security.Privileged, "container %s is privileged", container.Name)
		dropped := security.Capabilities != nil && slices.Equal(security.Capabilities.Drop, []corev1.Capability{"ALL"}) && len(security.Capabilities.Add) == 0
		complain(!dropped, "container %s has capabilities", container.Name)
		complain(security.RunAsUser != nil || security.RunAsNonRoot != nil || security.SeccompProfile != nil, "container %s differs from its pod", container.Name)
		complain(len(container.Env) > 0 || len(container.EnvFrom) > 0, "container %s has variables", container.Name)
	}
	return wrong
}

// TestPodsHaveLittle checks that no pod has more than a client needs, even if it runs as root or on the host network at
// the user's request.
func TestPodsHaveLittle(t *testing.T) {
	for name, benchmark := range kinds() {
		run := runOf(benchmark)
		for _, target := range run.Spec.Run.Targets {
			pod := objects.Pod(settings, run, objects.Client{Target: target.Name, Attempt: 1}, found[name])
			if wrong := beyond(pod, name == "host-network"); len(wrong) > 0 {
				t.Errorf("%s: %s", name, strings.Join(wrong, "; "))
			}
		}
	}
	on, off := true, false
	for want, change := range map[string]func(*corev1.Pod){
		"token":           func(p *corev1.Pod) { p.Spec.AutomountServiceAccountToken = &on },
		"service account": func(p *corev1.Pod) { p.Spec.ServiceAccountName = "default" },
		"of the node":     func(p *corev1.Pod) { p.Spec.HostPID = true },
		"neither a claim": func(p *corev1.Pod) {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "t", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{}}})
		},
		"of the Secret":  func(p *corev1.Pod) { p.Spec.Volumes[1].Secret.SecretName = "other" },
		"no limit":       func(p *corev1.Pod) { p.Spec.Volumes[0].EmptyDir.SizeLimit = nil },
		"can be written": func(p *corev1.Pod) { p.Spec.Containers[0].SecurityContext.ReadOnlyRootFilesystem = &off },
		"more rights":    func(p *corev1.Pod) { p.Spec.InitContainers[0].SecurityContext.AllowPrivilegeEscalation = &on },
		"privileged":     func(p *corev1.Pod) { p.Spec.Containers[0].SecurityContext.Privileged = &on },
		"has capabilities": func(p *corev1.Pod) {
			p.Spec.Containers[0].SecurityContext.Capabilities.Add = []corev1.Capability{"NET_BIND_SERVICE"}
		},
		"no security": func(p *corev1.Pod) { p.Spec.InitContainers[0].SecurityContext = nil },
	} {
		pod := objects.Pod(settings, runOf(usual()), objects.Client{Target: "data", Attempt: 1}, objects.Storage{})
		change(pod)
		if wrong := strings.Join(beyond(pod, false), "; "); !strings.Contains(wrong, want) {
			t.Errorf("want a complaint about %q, got %q", want, wrong)
		}
	}
}

// TestOnlyBuilder checks that no other code creates pods, so that what these tests check holds for all pods.
func TestOnlyBuilder(t *testing.T) {
	builders := []string{
		"internal/cli/run_class.go", // a Job without pods, used as a timer
		"internal/objects/pod.go",
	}
	makes := regexp.MustCompile(`\b(PodSpec|PodTemplateSpec|JobSpec|DeploymentSpec|StatefulSetSpec|DaemonSetSpec)\{`)
	var found []string
	for _, folder := range []string{"api", "cmd", "controllers", "internal"} {
		err := filepath.WalkDir(filepath.Join("..", "..", folder), func(file string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || strings.Contains(file, "zz_generated") {
				return err
			}
			text, err := os.ReadFile(file)
			if makes.Match(text) {
				found = append(found, filepath.ToSlash(strings.TrimPrefix(file, filepath.Join("..", "..")+string(filepath.Separator))))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(found, builders) {
		t.Errorf("pods are made in %q, want only %q", found, builders)
	}
}

// TestOwnersOfFiles checks a pod's user, group and fsGroup. fsGroup changes the group of a volume's files.
func TestOwnersOfFiles(t *testing.T) {
	root, group := int64(0), int64(7)
	fresh, part := objects.Storage{Provisioned: []string{"data"}}, objects.Storage{Provisioned: []string{"more"}}
	for name, test := range map[string]struct {
		benchmark          *builders.BenchmarkBuilder
		on                 objects.Storage
		user, group, files int64
	}{
		"a claim of the user's":              {usual(), objects.Storage{}, 65532, 65532, -1},
		"a volume that we have provisioned":  {usual().Mutate(made(v1alpha1.ClaimShared, v1alpha1.ClaimForRun)), fresh, 65532, 65532, 65532},
		"a template, and an existing volume": {usual().Mutate(made(v1alpha1.ClaimShared, v1alpha1.ClaimForRun)), objects.Storage{}, 65532, 65532, -1},
		"another volume was provisioned":     {usual().Mutate(made(v1alpha1.ClaimShared, v1alpha1.ClaimForRun)), part, 65532, 65532, -1},
		"asked for": {usual().Mutate(templated(v1alpha1.PodTemplate{
			SecurityContext: &v1alpha1.ClientSecurityContext{FSGroup: &group}})), objects.Storage{}, 65532, 65532, 7},
		"root": {usual().Mutate(made(v1alpha1.ClaimShared, v1alpha1.ClaimForRun)).Mutate(templated(v1alpha1.PodTemplate{
			SecurityContext: &v1alpha1.ClientSecurityContext{RunAsUser: &root}})), fresh, 0, 0, 0},
		"a group of its own": {usual().Mutate(made(v1alpha1.ClaimShared, v1alpha1.ClaimForRun)).Mutate(templated(v1alpha1.PodTemplate{
			SecurityContext: &v1alpha1.ClientSecurityContext{RunAsGroup: &group}})), fresh, 65532, 7, 7},
	} {
		t.Run(name, func(t *testing.T) {
			got := objects.Pod(settings, runOf(test.benchmark), objects.Client{Target: "data", Attempt: 1}, test.on).Spec.SecurityContext
			files := int64(-1)
			if got.FSGroup != nil {
				files = *got.FSGroup
			}
			if *got.RunAsUser != test.user || *got.RunAsGroup != test.group || files != test.files || *got.RunAsNonRoot != (test.user != 0) {
				t.Errorf("user %d, group %d, fsGroup %d, nonRoot %t", *got.RunAsUser, *got.RunAsGroup, files, *got.RunAsNonRoot)
			}
			if (got.FSGroup == nil) != (got.FSGroupChangePolicy == nil) {
				t.Error("an fsGroup without a policy, or the other way about")
			}
		})
	}
}
