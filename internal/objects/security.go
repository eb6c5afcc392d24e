package objects

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// podSecurity is what Pod Security "restricted" asks, with the user's wishes about who owns files.
func podSecurity(run *v1alpha1.BenchmarkRun, target v1alpha1.Target, on Storage) *corev1.PodSecurityContext {
	var wanted v1alpha1.ClientSecurityContext
	if said := template(run).SecurityContext; said != nil {
		wanted = *said
	}
	user, group := int64(DefaultUser), int64(DefaultUser)
	if wanted.RunAsUser != nil {
		user = *wanted.RunAsUser
	}
	nonRoot := user != 0
	if !nonRoot {
		// Without capabilities root may do what the owner root and the group root may, no more.
		group = 0
	}
	if wanted.RunAsGroup != nil {
		group = *wanted.RunAsGroup
	}
	security := &corev1.PodSecurityContext{
		RunAsUser: &user, RunAsGroup: &group, RunAsNonRoot: &nonRoot,
		FSGroup:            wanted.FSGroup,
		SupplementalGroups: wanted.SupplementalGroups,
		SELinuxOptions:     wanted.SELinuxOptions,
		SeccompProfile:     &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	if len(on.Devices) > 0 && !slices.Contains(security.SupplementalGroups, diskGroup) {
		security.SupplementalGroups = append(slices.Clone(security.SupplementalGroups), diskGroup)
	}
	if security.FSGroup == nil && allMade(target) {
		security.FSGroup = &group
	}
	if security.FSGroup != nil {
		policy := corev1.FSGroupChangeOnRootMismatch
		if wanted.FSGroupChangePolicy != nil {
			policy = *wanted.FSGroupChangePolicy
		}
		security.FSGroupChangePolicy = &policy
	}
	return security
}

// allMade is true when every volume of the target is a claim that we made. An fsGroup changes the
// owner of every file of a volume: on a claim of the user's that is for the user to ask.
func allMade(target v1alpha1.Target) bool {
	for _, volume := range target.Volumes {
		if volume.ClaimTemplate == nil {
			return false
		}
	}
	return len(target.Volumes) > 0
}

// containerSecurity leaves a container nothing but its user. The root file system is read-only, so
// that a tool can write to the volumes under test and to /tmp only.
func containerSecurity() *corev1.SecurityContext {
	yes, no := true, false
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: &no,
		ReadOnlyRootFilesystem:   &yes,
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}
