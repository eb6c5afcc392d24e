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
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/objective"
	"github.com/storagebench/storagebench/internal/plan"
)

// loaded is a file that was read, checked and planned.
type loaded struct {
	benchmark *v1alpha1.StorageBenchmark
	// objects holds all objects of the file.
	objects  []admission.Object
	resolved *v1alpha1.RunSpec
	plan     plan.Plan
	// seed is the seed of the plan.
	seed int64
}

// load reads a file with one StorageBenchmark and the profiles that it refers to. It reports all mistakes at once.
func load(streams Streams, name string, seed int64) (loaded, error) {
	return loadFor(streams, name, loadOptions{seed: seed})
}

// loadOptions controls how a file is read.
type loadOptions struct {
	seed int64
	// profilesElsewhere is true if profiles that are missing in the file may exist in the cluster. What depends on them
	// is not planned.
	profilesElsewhere bool
}

func loadFor(streams Streams, name string, options loadOptions) (loaded, error) {
	if name == "" {
		return loaded{}, errors.New("no file given: add -f FILE")
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

// mistakes returns an error that lists all mistakes in a file.
func mistakes(name string, faults admission.Errors) error {
	return fmt.Errorf("%s has %s:\n%s", name, measure.FormatCount(len(faults), "mistake"), indent(faults.Error()))
}

// understand reads a file and plans it. It also plans a file with faults, so that the user sees all of them at once,
// but leaves out what the plan reports about a field that already has a fault, because it may follow from that fault.
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
	cluster := plan.Cluster{Namespace: benchmark.Namespace, PriorityClass: plan.OperatorPriorityClass}
	planned, problems := plan.Make(resolved, options.seed, plan.InCluster(cluster))
	for _, problem := range problems {
		// A workload whose profile is not known cannot be checked.
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

// only returns the StorageBenchmark of a file, which must contain exactly one.
func only(objects []admission.Object) (*admission.Object, error) {
	var found *admission.Object
	for i := range objects {
		object := &objects[i]
		if object.Benchmark == nil {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("it has two StorageBenchmarks, %s and %s: use one per file", found.Benchmark.Name, object.Benchmark.Name)
		}
		found = object
	}
	if found == nil {
		return nil, errors.New("it has no StorageBenchmark")
	}
	return found, nil
}

// profilesOf looks profiles up among the objects of the file.
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

// orLibrary also looks ClusterWorkloadProfiles up in the library that this program carries. A cluster may have other
// profiles under these names, so the result does not show what would run there.
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
