package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/admission"
	"github.com/storagebench/storagebench/internal/plan"
)

// loaded is a file that was read, checked and planned.
type loaded struct {
	benchmark *v1alpha1.StorageBenchmark
	resolved  *v1alpha1.RunSpec
	plan      plan.Plan
}

// load reads a file with one StorageBenchmark and the profiles that it refers to. All that is wrong
// is told at once.
func load(streams Streams, name string) (loaded, error) {
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
	objects, err := admission.Decode(text)
	if err != nil {
		return loaded{}, fmt.Errorf("%s is not valid:\n%s", name, indent(err.Error()))
	}
	benchmark, err := only(objects)
	if err != nil {
		return loaded{}, fmt.Errorf("%s: %w", name, err)
	}
	resolved, problems := plan.Resolve(&benchmark.Spec.Run, profilesOf(objects, benchmark.Namespace))
	if len(problems) > 0 {
		return loaded{}, fmt.Errorf("%s: a profile that is referred to is not in the file:\n%s", name, list(problems))
	}
	planned, problems := plan.Make(resolved)
	if len(problems) > 0 {
		return loaded{}, fmt.Errorf("%s cannot be run:\n%s", name, list(problems))
	}
	return loaded{benchmark: benchmark, resolved: resolved, plan: planned}, nil
}

func only(objects []admission.Object) (*v1alpha1.StorageBenchmark, error) {
	var found *v1alpha1.StorageBenchmark
	for _, object := range objects {
		if object.Benchmark == nil {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("it has two StorageBenchmarks, %s and %s: give one a file", found.Name, object.Benchmark.Name)
		}
		found = object.Benchmark
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

func list(problems field.ErrorList) string {
	var lines []string
	for _, problem := range problems {
		lines = append(lines, problem.Error())
	}
	return indent(strings.Join(lines, "\n"))
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ")
}
