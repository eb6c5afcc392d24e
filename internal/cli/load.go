package cli

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/admission"
	"github.com/storagebench/storagebench/internal/library"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/objective"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/spelling"
)

// loaded is a benchmark that was read, checked and planned.
type loaded struct {
	benchmark *v1alpha1.StorageBenchmark
	// objects holds all storagebench objects in the files.
	objects  []admission.Object
	resolved *v1alpha1.RunSpec
	plan     plan.Plan
	seed     int64
}

// loadOptions controls how files are read.
type loadOptions struct {
	seed int64
	// inCluster is true for a run in a cluster. The cluster may have profiles that the files do not contain. Workloads
	// that refer to these profiles are accepted but not planned. Unknown presets are also accepted, because the operator
	// may know them from its ConfigMap or may be newer than this program.
	inCluster bool
	// local is true for a run on directories, whose targets need no claims.
	local bool
}

// load reads files that contain one StorageBenchmark and the profiles that it refers to. It reports all mistakes at
// once.
func load(streams Streams, names []string, options loadOptions) (loaded, error) {
	all, err := loadAll(streams, names, options)
	if err != nil {
		return loaded{}, err
	}
	if len(all) > 1 {
		return loaded{}, fmt.Errorf("the files contain %d StorageBenchmarks (first: %s, %s): run one at a time with -f FILE",
			len(all), all[0].benchmark.Name, all[1].benchmark.Name)
	}
	return all[0], nil
}

// loadAll reads all StorageBenchmarks in the files. It returns an error if there are none.
func loadAll(streams Streams, names []string, options loadOptions) ([]loaded, error) {
	sources, err := readSources(streams, names)
	if err != nil {
		return nil, err
	}
	all, err := understand(sources, options)
	if err != nil {
		return nil, err
	}
	var broken []string
	for _, one := range sources {
		if len(one.faults) > 0 {
			broken = append(broken, fmt.Sprintf("%s has %s:\n%s", one.shownName(), measure.FormatCount(len(one.faults), "mistake"), indent(one.faults.Error())))
		}
		if len(one.file.Foreign) > 0 {
			_, _ = fmt.Fprintf(streams.Err, "%s: skipped objects of other APIs: %s\n", one.name, measure.FormatList(one.file.Foreign, 5))
		}
	}
	switch {
	case len(broken) > 0:
		return nil, errors.New(strings.Join(broken, "\n"))
	case len(all) == 0:
		return nil, fmt.Errorf("%s: no StorageBenchmark found", strings.Join(names, ", "))
	}
	return all, nil
}

// understand reads and checks files and plans their benchmarks. It adds each fault to the source that contains it.
// Benchmarks with faults are planned too, so that the user sees all faults at once. If a field already has a fault,
// further faults that planning finds in this field are dropped, because the first fault may be their cause.
func understand(sources []*source, options loadOptions) ([]loaded, error) {
	var objects []admission.Object
	for _, one := range sources {
		if err := one.read(options.local); err != nil {
			return nil, err
		}
		objects = append(objects, one.file.Objects...)
	}
	duplicates(sources)
	var all []loaded
	for _, one := range sources {
		for i := range one.file.Objects {
			if object := &one.file.Objects[i]; object.Benchmark != nil {
				all = append(all, one.plan(object, objects, options))
			}
		}
		one.faults.Sort()
	}
	return all, nil
}

// plan plans a benchmark of the source, and adds the faults that only planning finds.
func (s *source) plan(object *admission.Object, objects []admission.Object, options loadOptions) loaded {
	benchmark, known := object.Benchmark, len(s.faults)
	add := func(problems field.ErrorList) {
		for _, problem := range problems {
			path := plan.PathAsWritten(&benchmark.Spec.Run, problem.Field)
			fault := object.At(admission.Problem{Path: path, Message: bodyOf(problem)})
			if !s.faults[:known].About(fault.Object, fault.Path) {
				s.faults = append(s.faults, fault)
			}
		}
	}
	profiles := profilesOf(objects, benchmark.Namespace)
	if !options.inCluster {
		profiles = orLibrary(profiles)
	}
	resolved, problems := plan.Resolve(&benchmark.Spec.Run, profiles)
	unresolved := problems
	if !options.inCluster {
		suggestProfiles(unresolved, objects)
		add(unresolved)
	}
	cluster := plan.Cluster{Namespace: benchmark.Namespace, PriorityClass: plan.OperatorPriorityClass}
	if options.local {
		shareDirectories(resolved)
	}
	planned, problems := plan.Make(resolved, options.seed, plan.InCluster(cluster))
	if options.inCluster {
		problems = withoutPresets(problems)
	}
	for _, problem := range problems {
		// Skip problems of a workload whose profile is unknown, because the workload cannot be checked.
		if !slices.ContainsFunc(unresolved, func(one *field.Error) bool {
			return strings.HasPrefix(one.Field, strings.TrimSuffix(problem.Field, ".profileRef"))
		}) {
			add(field.ErrorList{problem})
		}
	}
	for i, warning := range planned.Warnings {
		planned.Warnings[i] = plan.PathAsWritten(&benchmark.Spec.Run, warning)
	}
	if len(unresolved) == 0 {
		add(objective.Check(benchmark.Spec.Objectives, resolved))
	}
	return loaded{benchmark: benchmark, objects: objects, resolved: resolved, plan: planned, seed: options.seed}
}

// shareDirectories lets all clients of a target share its volumes, because a local run uses directories instead of
// claims.
func shareDirectories(run *v1alpha1.RunSpec) {
	for _, target := range run.Targets {
		for _, volume := range target.Volumes {
			if claim := volume.ClaimTemplate; claim != nil {
				claim.Scope = v1alpha1.ClaimShared
				claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
			}
		}
	}
}

// withoutPresets drops the errors about unknown presets. If there are any, it also drops the errors about sweeps, which
// may need the limits of an unknown preset.
func withoutPresets(problems field.ErrorList) field.ErrorList {
	preset := func(problem *field.Error) bool { return strings.HasSuffix(problem.Field, ".documented.preset") }
	if !slices.ContainsFunc(problems, preset) {
		return problems
	}
	return slices.DeleteFunc(problems, func(problem *field.Error) bool {
		return preset(problem) || strings.HasSuffix(problem.Field, ".sweep.regime")
	})
}

// bodyOf formats an error in a field of a benchmark as the API server formats an admission error: the reason, preceded
// by the value of the field if the value is a string, a number or a boolean.
func bodyOf(problem *field.Error) string {
	shown := ""
	switch value := reflect.ValueOf(problem.BadValue); {
	case value.Kind() == reflect.String && value.String() != "":
		shown = strconv.Quote(value.String()) + ": "
	case value.CanInt(), value.Kind() == reflect.Bool:
		shown = fmt.Sprint(value) + ": "
	}
	switch {
	case problem.Type == field.ErrorTypeRequired && problem.Detail != "":
		return problem.Detail
	case problem.Type == field.ErrorTypeInvalid && problem.Detail != "":
		return shown + problem.Detail
	}
	return problem.ErrorBody()
}

// profilesOf returns a function that looks up profiles among the objects in the files, for a benchmark in the given
// namespace. The function prefers a profile with the same namespace. It also accepts a profile if either the profile or
// the benchmark has no namespace in the files, because both may be applied to the same namespace.
func profilesOf(objects []admission.Object, namespace string) plan.Profiles {
	return func(ref v1alpha1.ProfileRef) (engine v1alpha1.Engine, found bool) {
		for _, object := range objects {
			switch profile := object.Profile; {
			case profile != nil && ref.Kind == v1alpha1.WorkloadProfileKind && profile.Name == ref.Name:
				if profile.Namespace == namespace {
					return profile.Spec.Engine, true
				}
				if profile.Namespace == "" || namespace == "" {
					engine, found = profile.Spec.Engine, true
				}
			case object.ClusterProfile != nil && ref.Kind == v1alpha1.ClusterWorkloadProfileKind && object.ClusterProfile.Name == ref.Name:
				return object.ClusterProfile.Spec.Engine, true
			}
		}
		return engine, found
	}
}

// orLibrary returns a function that looks up a profile with inFile. If inFile does not find a ClusterWorkloadProfile,
// the function looks in the library that is built into this program. A run in a cluster may use a different workload,
// because the cluster may have a different profile with the same name.
func orLibrary(inFile plan.Profiles) plan.Profiles {
	return func(ref v1alpha1.ProfileRef) (v1alpha1.Engine, bool) {
		if engine, found := inFile(ref); found || ref.Kind != v1alpha1.ClusterWorkloadProfileKind {
			return engine, found
		}
		profile, found := library.Find(ref.Name)
		return profile.Spec.Engine, found
	}
}

// suggestProfiles adds a suggestion to each error about an unknown profile: the
// known profile with the most similar name.
func suggestProfiles(unresolved field.ErrorList, objects []admission.Object) {
	var known []v1alpha1.ProfileRef
	for _, object := range objects {
		switch {
		case object.Profile != nil:
			known = append(known, v1alpha1.ProfileRef{Kind: v1alpha1.WorkloadProfileKind, Name: object.Profile.Name})
		case object.ClusterProfile != nil:
			known = append(known, v1alpha1.ProfileRef{Kind: v1alpha1.ClusterWorkloadProfileKind, Name: object.ClusterProfile.Name})
		}
	}
	fromLibrary, _ := library.Profiles() // cannot fail: a test parses every profile of the library
	for i := range fromLibrary {
		known = append(known, v1alpha1.ProfileRef{Kind: v1alpha1.ClusterWorkloadProfileKind, Name: fromLibrary[i].Name})
	}
	names := make([]string, len(known))
	for i := range known {
		names[i] = known[i].Name
	}
	for _, problem := range unresolved {
		given, _ := problem.BadValue.(string)
		kind, name, found := strings.Cut(given, " ")
		if problem.Type != field.ErrorTypeNotFound || !found || len(name) > 64 {
			continue
		}
		problem.Type, problem.BadValue = field.ErrorTypeInvalid, name
		switch best := spelling.Nearest(name, names, 4); {
		case best < 0:
			problem.Detail += "; `kubectl storagebench profiles` lists the profiles of the library"
		case known[best].Kind != kind && kind != plan.AnyProfile:
			problem.Detail = fmt.Sprintf("did you mean {kind: %s, name: %s}?", known[best].Kind, names[best])
		default:
			problem.Detail = fmt.Sprintf("did you mean %s?", names[best])
		}
	}
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ")
}
