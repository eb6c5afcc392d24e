package objects_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/test/builders"
)

// restricted gives what Pod Security "restricted" has against a pod; it is the API server's own code.
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

// TestPodSecurity holds for every pod but those for which the user asked otherwise.
func TestPodSecurity(t *testing.T) {
	root := int64(0)
	refused := map[string]*builders.BenchmarkBuilder{
		"runAsUser=0": usual().Mutate(templated(v1alpha1.PodTemplate{SecurityContext: &v1alpha1.ClientSecurityContext{RunAsUser: &root}})),
		"host":        usual().Mutate(templated(v1alpha1.PodTemplate{HostNetwork: yes()})),
	}
	for name, benchmark := range runs {
		if name == "host-network" {
			continue
		}
		pod := objects.Pod(settings, runOf(benchmark), objects.Client{Target: "data", Attempt: 1}, objects.Storage{})
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

// TestOwnersOfFiles is about who may change the owners of a volume's files.
func TestOwnersOfFiles(t *testing.T) {
	root, group := int64(0), int64(7)
	for name, test := range map[string]struct {
		benchmark          *builders.BenchmarkBuilder
		user, group, files int64
	}{
		"a claim of the user's": {usual(), 65532, 65532, -1},
		"a claim that we make":  {usual().Mutate(made(v1alpha1.ClaimShared, v1alpha1.ClaimForRun)), 65532, 65532, 65532},
		"asked for": {usual().Mutate(templated(v1alpha1.PodTemplate{
			SecurityContext: &v1alpha1.ClientSecurityContext{FSGroup: &group}})), 65532, 65532, 7},
		"root": {usual().Mutate(made(v1alpha1.ClaimShared, v1alpha1.ClaimForRun)).Mutate(templated(v1alpha1.PodTemplate{
			SecurityContext: &v1alpha1.ClientSecurityContext{RunAsUser: &root}})), 0, 0, 0},
		"a group of its own": {usual().Mutate(made(v1alpha1.ClaimShared, v1alpha1.ClaimForRun)).Mutate(templated(v1alpha1.PodTemplate{
			SecurityContext: &v1alpha1.ClientSecurityContext{RunAsGroup: &group}})), 65532, 7, 7},
	} {
		t.Run(name, func(t *testing.T) {
			got := objects.Pod(settings, runOf(test.benchmark), objects.Client{Target: "data", Attempt: 1}, objects.Storage{}).Spec.SecurityContext
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
