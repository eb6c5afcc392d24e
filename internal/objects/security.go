package objects

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// podSecurity returns a security context that complies with Pod Security "restricted" and applies the user's settings
// for file ownership.
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
		// Without capabilities, root has only the access that file permissions grant to user and group root, so its
		// default group is root.
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
	if security.FSGroup == nil && provisioned(target, on) {
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

// provisioned reports whether all volumes of the target are created for the run or its benchmark. An fsGroup changes
// the group of every file of a volume, so on existing volumes it is set only if the user requests it.
func provisioned(target v1alpha1.Target, on Storage) bool {
	for _, volume := range target.Volumes {
		if !slices.Contains(on.Provisioned, volume.Name) {
			return false
		}
	}
	return len(target.Volumes) > 0
}

// containerSecurity returns a security context without privileges. The root file system is read-only, so that a tool
// can write only to the volumes under test and to /tmp.
func containerSecurity() *corev1.SecurityContext {
	yes, no := true, false
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: &no,
		ReadOnlyRootFilesystem:   &yes,
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}
