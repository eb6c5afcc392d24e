package plan

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine/engines"
)

// Profiles looks up a profile by kind and name, and returns false if it does not exist. References passed to it always
// have a kind.
type Profiles func(ref v1alpha1.ProfileRef) (v1alpha1.Engine, bool)

// Resolve returns a copy of the specification in the form that a run stores: references to profiles are replaced by the
// profiles, overrides by the resulting workloads, and defaults are filled in.
func Resolve(run *v1alpha1.RunSpec, profiles Profiles) (*v1alpha1.RunSpec, field.ErrorList) {
	resolved := run.DeepCopy()
	root := field.NewPath("spec", "run")
	r := resolver{profiles: profiles}
	r.workload(root.Child("workload"), resolved.Workload)
	for i := range resolved.Phases {
		phase := &resolved.Phases[i]
		path := root.Child("phases").Index(i)
		r.workload(path.Child("workload"), phase.Workload)
		r.override(path, resolved, phase)
		for j := range phase.TargetWorkloads {
			r.workload(path.Child("targetWorkloads").Index(j).Child("workload"), &phase.TargetWorkloads[j].Workload)
		}
	}
	resolved.SetDefaults()
	return resolved, r.problems
}

// AnyProfile replaces the kind in the error about a missing profile if the reference does not set a kind.
const AnyProfile = "profile"

type resolver struct {
	profiles Profiles
	problems field.ErrorList
}

func (r *resolver) workload(path *field.Path, workload *v1alpha1.Workload) {
	if workload == nil || workload.ProfileRef == nil {
		return
	}
	ref := *workload.ProfileRef
	spec, found := r.find(ref)
	if !found {
		missing := field.NotFound(path.Child("profileRef"), fmt.Sprintf("%s %s", cmp.Or(ref.Kind, AnyProfile), ref.Name))
		missing.Detail = "fix kind or name, create the profile, or replace the reference with its spec"
		if ref.Kind == "" {
			missing.Detail = "no such profile in the namespace or the cluster: correct the name, create the profile, or replace " +
				"the reference with its spec"
		}
		r.problems = append(r.problems, missing)
		return
	}
	workload.ProfileRef = nil
	workload.Engine = *spec.DeepCopy()
	if ref.DatasetSize != nil {
		if problem := engines.Resize(path.Child("profileRef", "datasetSize"), &workload.Engine, *ref.DatasetSize); problem != nil {
			r.problems = append(r.problems, problem)
		}
	}
}

// find looks up a profile. If the reference has no kind, find searches the namespace before the cluster, so that a
// namespace can have its own version of a profile.
func (r *resolver) find(ref v1alpha1.ProfileRef) (v1alpha1.Engine, bool) {
	if ref.Kind != "" {
		return r.profiles(ref)
	}
	for _, ref.Kind = range []string{v1alpha1.WorkloadProfileKind, v1alpha1.ClusterWorkloadProfileKind} {
		if spec, found := r.profiles(ref); found {
			return spec, true
		}
	}
	return v1alpha1.Engine{}, false
}
