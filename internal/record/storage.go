package record

import (
	"slices"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/internal/plan"
)

// Storage records the description and the documented limits of each target. Call it once, when all clients are ready
// and before the first step, because all later comparisons use this record. It does not change an existing record.
func Storage(run *v1alpha1.BenchmarkRun, found []v1alpha1.StorageDescription) {
	if len(run.Status.Storage) > 0 {
		return
	}
	for i := range run.Spec.Run.Targets {
		name := run.Spec.Run.Targets[i].Name
		at := slices.IndexFunc(found, func(d v1alpha1.StorageDescription) bool { return d.Target == name })
		if at < 0 {
			continue
		}
		run.Status.Storage = append(run.Status.Storage, *found[at].DeepCopy())
		boundStorage(&run.Status.Storage[len(run.Status.Storage)-1])
	}
	fit(run)
}

// StorageNoted reports whether the storage of any target has been recorded; see Storage.
func StorageNoted(run *v1alpha1.BenchmarkRun) bool { return len(run.Status.Storage) > 0 }

// boundStorage truncates what clusters and agents report about volumes to the limits of the API. The limits package
// has already truncated the rest of the description.
func boundStorage(d *v1alpha1.StorageDescription) {
	d.Volumes = d.Volumes[:min(len(d.Volumes), 16)]
	for i := range d.Volumes {
		v := &d.Volumes[i]
		for _, text := range []struct {
			of     *string
			length int
		}{{&v.Name, 40}, {&v.ClaimName, 253}, {&v.VolumeName, 253}, {&v.Driver, 253}, {&v.VolumeHandle, 512}, {&v.StorageClass, 253},
			{&v.VolumeAttributesClass, 253}, {&v.VolumeMode, 16}, {&v.FileSystem, 64}, {&v.Server, 512}} {
			*text.of = v1alpha1.Truncate(*text.of, text.length)
		}
		v.AccessModes = v.AccessModes[:min(len(v.AccessModes), 4)]
		for j := range v.AccessModes {
			v.AccessModes[j] = v1alpha1.Truncate(v.AccessModes[j], 32)
		}
	}
}

// Documented returns the documented limits by target name. It takes them from the run's status or, before they are
// recorded there, from the run's specification and the built-in catalog.
func Documented(run *v1alpha1.BenchmarkRun) map[string]limits.Computed {
	made := map[string]limits.Computed{}
	for i := range run.Spec.Run.Targets {
		name := run.Spec.Run.Targets[i].Name
		made[name] = limitsOf(run, name)
	}
	return made
}

// limitsOf returns the documented limits of one target.
func limitsOf(run *v1alpha1.BenchmarkRun, target string) limits.Computed {
	if described := describedOf(run, target); described != nil {
		return limits.FromRecord(*described)
	}
	at := slices.IndexFunc(run.Spec.Run.Targets, func(t v1alpha1.Target) bool { return t.Name == target })
	if at < 0 {
		return limits.Computed{}
	}
	declared := run.Spec.Run.Targets[at].DocumentedLimits()
	if declared == nil {
		return limits.Computed{}
	}
	if catalog, err := limits.Builtin(); err == nil && declared.Preset != "" {
		if computed, err := catalog.Compute(limits.Description{Volumes: []limits.Volume{{}}}, declared); err == nil {
			return computed
		}
	}
	return limits.Declared(declared)
}

// describedOf returns the recorded description of a target, or nil if there is none.
func describedOf(run *v1alpha1.BenchmarkRun, target string) *v1alpha1.StorageDescription {
	for i := range run.Status.Storage {
		if run.Status.Storage[i].Target == target {
			return &run.Status.Storage[i]
		}
	}
	return nil
}

// ownVolumes reports whether each client of a target has its own volumes.
func ownVolumes(run *v1alpha1.BenchmarkRun, target string) bool {
	at := slices.IndexFunc(run.Spec.Run.Targets, func(t v1alpha1.Target) bool { return t.Name == target })
	return at >= 0 && !plan.Shared(&run.Spec.Run.Targets[at])
}

// shareOf scales the documented limits of a target to the number of clients that take part in a step.
func shareOf(run *v1alpha1.BenchmarkRun, of limits.Computed, target string, clients int32) limits.Computed {
	all := max(1, run.Spec.Run.Clients.Count)
	return of.Part(float64(clients)/float64(all), ownVolumes(run, target))
}

// shortenEvidence keeps at most `most` sentences of each suspect's evidence, each truncated to length.
func shortenEvidence(most, length int) func(*v1alpha1.BenchmarkRunStatus) {
	return eachSuspect(func(s *v1alpha1.Suspect) {
		s.Evidence = s.Evidence[:min(len(s.Evidence), most)]
		for i := range s.Evidence {
			s.Evidence[i] = v1alpha1.Truncate(s.Evidence[i], length)
		}
		if most == 0 {
			s.Evidence, s.Arithmetic = nil, ""
		}
	})
}

func eachSuspect(do func(*v1alpha1.Suspect)) func(*v1alpha1.BenchmarkRunStatus) {
	return func(status *v1alpha1.BenchmarkRunStatus) {
		eachTarget(status, func(target *v1alpha1.TargetResult) {
			for i := range target.Attributions {
				for j := range target.Attributions[i].Suspects {
					do(&target.Attributions[i].Suspects[j])
				}
			}
		})
	}
}

// dropSuspects keeps at most `most` suspects of each attribution, the likeliest ones.
func dropSuspects(most int) func(*v1alpha1.BenchmarkRunStatus) {
	return func(status *v1alpha1.BenchmarkRunStatus) {
		eachTarget(status, func(target *v1alpha1.TargetResult) {
			for i := range target.Attributions {
				one := &target.Attributions[i]
				one.Suspects = one.Suspects[:min(len(one.Suspects), most)]
			}
		})
	}
}

// shortenStorage shortens the texts of storage descriptions. It keeps the figures, because results are compared with
// them.
func shortenStorage(length int) func(*v1alpha1.BenchmarkRunStatus) {
	return func(status *v1alpha1.BenchmarkRunStatus) {
		for i := range status.Storage {
			d := &status.Storage[i]
			for j := range d.Limits {
				l := &d.Limits[j]
				for _, text := range []*string{&l.Arithmetic, &l.BurstArithmetic, &l.BucketArithmetic, &l.Source} {
					*text = v1alpha1.Truncate(*text, length)
				}
			}
			for j := range d.Missing {
				d.Missing[j].Message = v1alpha1.Truncate(d.Missing[j].Message, max(length, 60))
			}
			for j := range d.Notes {
				d.Notes[j] = v1alpha1.Truncate(d.Notes[j], max(length, 60))
			}
			if length == 0 {
				d.Notes = nil
				for j := range d.Volumes {
					d.Volumes[j].Parameters, d.Volumes[j].MountOptions = nil, nil
				}
			}
		}
	}
}
