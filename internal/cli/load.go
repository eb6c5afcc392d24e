package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/admission"
	"github.com/storagebench/storagebench/internal/library"
	"github.com/storagebench/storagebench/internal/objective"
	"github.com/storagebench/storagebench/internal/plan"
)

// loaded is a file that was read, checked and planned.
type loaded struct {
	benchmark *v1alpha1.StorageBenchmark
	// objects are all of the file.
	objects  []admission.Object
	resolved *v1alpha1.RunSpec
	plan     plan.Plan
	// seed that the plan was made with.
	seed int64
}

// load reads a file with one StorageBenchmark and the profiles that it refers to. All that is wrong
// is told at once.
func load(streams Streams, name string, seed int64) (loaded, error) {
	return loadFor(streams, name, loadOptions{seed: seed})
}

// loadOptions say what a file is read for.
type loadOptions struct {
	seed int64
	// profilesElsewhere: profiles that are not in the file may be in the cluster. What depends on them is not planned.
	profilesElsewhere bool
}

func loadFor(streams Streams, name string, options loadOptions) (loaded, error) {
	if name == "" {
		return loaded{}, errors.New("no file is given: add -f FILE")
	}
	file, err := openInput(streams, name)
	if err != nil {
		return loaded{}, err
	}
	defer func() { _ = file.Close() }()
	const limit = 4<<20 + 1
	text, err := io.ReadAll(io.LimitReader(file, limit))
	if err != nil {
		return loaded{}, fmt.Errorf("read %s: %w", name, err)
	}
	read, faults, err := understand(text, options)
	switch {
	case err != nil:
		return loaded{}, fmt.Errorf("%s: %w", name, err)
	case len(faults) > 0:
		return loaded{}, mistakes(name, faults)
	}
	return read, nil
}

// mistakes tells all that is wrong with a file.
func mistakes(name string, faults admission.Errors) error {
	return fmt.Errorf("%s has %s:\n%s", name, many(len(faults), "mistake"), indent(faults.Error()))
}

// understand reads a file and plans it. What only the plan can see is looked for in a file with other faults too: who
// corrects a file wants to know all of them. What is about a field with a known fault may follow from that.
func understand(text []byte, options loadOptions) (loaded, admission.Errors, error) {
	objects, faults, err := admission.Read(text)
	var broken admission.Errors
	if errors.As(err, &broken) {
		return loaded{}, broken, nil
	}
	if err != nil {
		return loaded{}, nil, err
	}
	object, err := only(objects)
	if err != nil {
		if len(faults) > 0 {
			return loaded{}, faults, nil
		}
		return loaded{}, nil, err
	}
	benchmark, known := object.Benchmark, len(faults)
	add := func(problems field.ErrorList) {
		for _, problem := range problems {
			fault := object.At(admission.Problem{Path: problem.Field, Message: problem.ErrorBody()})
			if !faults[:known].About(fault.Object, fault.Path) {
				faults = append(faults, fault)
			}
		}
	}
	profiles := profilesOf(objects, benchmark.Namespace)
	if !options.profilesElsewhere {
		profiles = orLibrary(profiles)
	}
	resolved, problems := plan.Resolve(&benchmark.Spec.Run, profiles)
	unresolved := problems
	if !options.profilesElsewhere {
		add(unresolved)
	}
	planned, problems := plan.Make(resolved, options.seed)
	for _, problem := range problems {
		// A workload that is not known cannot be judged.
		if !slices.ContainsFunc(unresolved, func(one *field.Error) bool {
			return strings.HasPrefix(one.Field, strings.TrimSuffix(problem.Field, ".profileRef"))
		}) {
			add(field.ErrorList{problem})
		}
	}
	if len(unresolved) == 0 {
		add(objective.Check(benchmark.Spec.Objectives, resolved))
	}
	faults.Sort()
	return loaded{benchmark: benchmark, objects: objects, resolved: resolved, plan: planned, seed: options.seed}, faults, nil
}

// only is the benchmark of a file.
func only(objects []admission.Object) (*admission.Object, error) {
	var found *admission.Object
	for i := range objects {
		object := &objects[i]
		if object.Benchmark == nil {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("it has two StorageBenchmarks, %s and %s: give one a file", found.Benchmark.Name, object.Benchmark.Name)
		}
		found = object
	}
	if found == nil {
		return nil, errors.New("there is no StorageBenchmark in it")
	}
	return found, nil
}

// profilesOf finds profiles among the objects of the file.
func profilesOf(objects []admission.Object, namespace string) plan.Profiles {
	return func(ref v1alpha1.ProfileRef) (v1alpha1.Engine, bool) {
		for _, object := range objects {
			switch {
			case object.Profile != nil && ref.Kind == v1alpha1.WorkloadProfileKind &&
				object.Profile.Name == ref.Name && object.Profile.Namespace == namespace:
				return object.Profile.Spec.Engine, true
			case object.ClusterProfile != nil && ref.Kind == v1alpha1.ClusterWorkloadProfileKind && object.ClusterProfile.Name == ref.Name:
				return object.ClusterProfile.Spec.Engine, true
			}
		}
		return v1alpha1.Engine{}, false
	}
}

// orLibrary takes profiles of the whole cluster that are not in the file from the library that this program carries. A cluster
// may have others under these names, so that nothing is said from here of what runs there.
func orLibrary(inFile plan.Profiles) plan.Profiles {
	return func(ref v1alpha1.ProfileRef) (v1alpha1.Engine, bool) {
		if engine, found := inFile(ref); found || ref.Kind != v1alpha1.ClusterWorkloadProfileKind {
			return engine, found
		}
		profile, found := library.Find(ref.Name)
		return profile.Spec.Engine, found
	}
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ")
}
