package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Profiles finds a profile by kind and name; false when there is none.
type Profiles func(ref v1alpha1.ProfileRef) (v1alpha1.Engine, bool)

// Resolve returns a copy of the run in which every reference is replaced by what it refers to.
func Resolve(run *v1alpha1.RunSpec, profiles Profiles) (*v1alpha1.RunSpec, field.ErrorList) {
	resolved := run.DeepCopy()
	root := field.NewPath("spec", "run")
	r := resolver{profiles: profiles}
	r.workload(root.Child("workload"), resolved.Workload)
	for i := range resolved.Phases {
		phase := &resolved.Phases[i]
		path := root.Child("phases").Index(i)
		r.workload(path.Child("workload"), phase.Workload)
		for j := range phase.TargetWorkloads {
			r.workload(path.Child("targetWorkloads").Index(j).Child("workload"), &phase.TargetWorkloads[j].Workload)
		}
	}
	return resolved, r.problems
}

type resolver struct {
	profiles Profiles
	problems field.ErrorList
}

func (r *resolver) workload(path *field.Path, workload *v1alpha1.Workload) {
	if workload == nil || workload.ProfileRef == nil {
		return
	}
	ref := *workload.ProfileRef
	if ref.Kind == "" {
		ref.Kind = v1alpha1.WorkloadProfileKind
	}
	engine, found := r.profiles(ref)
	if !found {
		missing := field.NotFound(path.Child("profileRef"), fmt.Sprintf("%s %s", ref.Kind, ref.Name))
		missing.Detail = "correct kind and name, add the profile, or write its spec in place of the reference"
		r.problems = append(r.problems, missing)
		return
	}
	workload.ProfileRef = nil
	workload.Engine = *engine.DeepCopy()
	if ref.DatasetSize != nil {
		r.resize(path.Child("profileRef", "datasetSize"), &workload.Engine, *ref.DatasetSize)
	}
}

// resize gives a load another amount of data. What that is made of is looked at with the rest of the load.
func (r *resolver) resize(path *field.Path, engine *v1alpha1.Engine, size resource.Quantity) {
	switch {
	case engine.Fio == nil:
		r.problems = append(r.problems, field.Forbidden(path, "only profiles of fio have such a size, and this is one of "+
			string(engine.EngineKind())+": remove it, or write the profile's spec in place of the reference"))
	case engine.Fio.JobFile != "":
		r.problems = append(r.problems, field.Forbidden(path, "the sizes of this profile are in its jobFile: remove it, or change them there"))
	case size.Sign() <= 0 || size.Cmp(*resource.NewQuantity(size.Value(), size.Format)) != 0:
		r.problems = append(r.problems, field.Invalid(path, size.String(), "a whole number of bytes, such as 8Gi"))
	default:
		engine.Fio.DatasetSize = size
	}
}
