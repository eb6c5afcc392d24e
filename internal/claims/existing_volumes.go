package claims

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// AllowsExisting reports whether the claims of a template may bind to existing volumes.
func AllowsExisting(template *v1alpha1.ClaimTemplate) bool {
	return template.AllowExistingVolumes != nil && *template.AllowExistingVolumes
}

// ExistingRemedy is the last part of an error about a template whose claims would bind, or are already bound, to
// existing volumes.
const ExistingRemedy = "use an existing claim with claimName, or set claimTemplate.allowExistingVolumes to true"

// existing returns an error for each field that makes the claims of a template bind to existing volumes, unless the
// template allows this. Even then, claims with scope PerClient cannot name a volume, because a volume can be bound to
// only one claim.
func existing(at *field.Path, template *v1alpha1.ClaimTemplate, clients int) field.ErrorList {
	spec, at := &template.Spec, at.Child("spec")
	if AllowsExisting(template) {
		if spec.VolumeName != "" && template.Scope == v1alpha1.ClaimPerClient && clients > 1 {
			return field.ErrorList{field.Invalid(at.Child("volumeName"), spec.VolumeName, fmt.Sprintf(
				"scope is PerClient, but only one of %d claims can bind to this volume: set scope to Shared, or select the "+
					"volumes by label with selector", clients))}
		}
		return nil
	}
	var problems field.ErrorList
	refuse := func(name, value, why string) {
		problems = append(problems, field.Invalid(at.Child(name), value, fmt.Sprintf(
			"%s an existing volume with its data, and the claim is deleted at the end of the run: remove the field to provision a new volume, %s",
			why, ExistingRemedy)))
	}
	if spec.VolumeName != "" {
		refuse("volumeName", spec.VolumeName, "it binds the claim to")
	}
	if spec.Selector != nil {
		refuse("selector", metav1.FormatLabelSelector(spec.Selector), "it binds the claim to")
	}
	if spec.StorageClassName != nil && *spec.StorageClassName == "" {
		refuse("storageClassName", "", "without a StorageClass no volume is provisioned, so the claim binds to")
	}
	return problems
}
