package benchmarkrun

import (
	"fmt"
	"path"
	"slices"
	"strconv"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/claims"
	"github.com/storagebench/storagebench/internal/conductor"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/internal/plan"
)

// finishing reports whether the agents have been asked, or are about to be asked, to clean up and exit.
func finishing(run *v1alpha1.BenchmarkRun) bool {
	return leaving(run) != nil
}

// finishOptions specifies which data the given agents of a target remove: their own and, if the clients share the
// volume, the data of lost clients.
func (s *session) finishOptions(target v1alpha1.Target, agents []decide.ClientKey, remove bool) conductor.FinishOptions {
	options := conductor.FinishOptions{RemoveData: remove, OrphanedData: s.orphansOf(target)}
	if !remove || !plan.Shared(&target) {
		return options
	}
	for _, key := range s.of(target.Name) {
		if m := s.members[key]; m.lost {
			m.removers = append(m.removers, agents...)
			options.AlsoRemove = append(options.AlsoRemove, key.Index)
		}
	}
	return options
}

// remainingData returns the directories whose removal no agent has confirmed. A client whose agent never answered has
// created no directory, and the data on a claim that is deleted with the run is deleted too.
func remainingData(run *v1alpha1.BenchmarkRun, s *session) []v1alpha1.DataLeft {
	var left []v1alpha1.DataLeft
	for _, target := range run.Spec.Run.Targets {
		if target.DataPolicy == v1alpha1.DataRetain || deletedWithRun(target) {
			continue
		}
		for _, key := range s.of(target.Name) {
			if why := whyLeft(s, key); why != "" {
				left = append(left, eachVolume(target, s.storage(target.Name), v1alpha1.DataLeft{
					Target: target.Name,
					Path:   dataPath(run, target, s.plan.DatasetHash, key.Index),
					Reason: why,
				})...)
			}
		}
	}
	return left
}

// eachVolume returns the entries of status.dataLeft for a target: one for each volume on which directories may remain
// after the run. Each entry is a copy of the given one, with the name of the volume. There is no entry for raw devices
// and read-only volumes, which have no directories, nor for volumes whose claim is deleted with the run.
func eachVolume(target v1alpha1.Target, on objects.Storage, left v1alpha1.DataLeft) []v1alpha1.DataLeft {
	var all []v1alpha1.DataLeft
	for _, volume := range target.Volumes {
		if claimDeletedWithRun(volume) || slices.Contains(on.Devices, volume.Name) || slices.Contains(on.ReadOnly, volume.Name) {
			continue
		}
		left.Volume = volume.Name
		all = append(all, left)
	}
	return all
}

// whyLeft returns the reason why a client's data may still exist. It returns "" if the data was never created, or if it
// was removed, either by the client itself or by another client on its behalf.
func whyLeft(s *session, key decide.ClientKey) string {
	m, answer := s.members[key], s.answer(key)
	switch {
	case answer.GetProblem() != "":
		return answer.GetProblem()
	case answer != nil, m.tidy, !m.met:
		return ""
	case slices.ContainsFunc(m.removers, func(other decide.ClientKey) bool { return s.answer(other).GetDataRemoved() }):
		return ""
	}
	return fmt.Sprintf("client %s was lost before it confirmed that its data was removed", key)
}

// unconfirmedData returns the directories that may remain after a run that the operator cannot continue to conduct. The
// agents exit and remove their data when their pods are deleted, but the operator does not see whether they do. Agents
// create directories only for steps, and each step is recorded before its load starts.
func unconfirmedData(run *v1alpha1.BenchmarkRun) []v1alpha1.DataLeft {
	if len(run.Status.Steps) == 0 {
		return nil
	}
	var left []v1alpha1.DataLeft
	for _, target := range run.Spec.Run.Targets {
		if target.DataPolicy == v1alpha1.DataRetain || deletedWithRun(target) {
			continue
		}
		left = append(left, eachVolume(target, objects.Storage{}, v1alpha1.DataLeft{
			Target: target.Name,
			Path:   path.Join("/", target.Path, v1alpha1.DataDirectory, run.Spec.BenchmarkRef.UID),
			Reason: "the target's agents should have removed the data when their pods were deleted, but the operator has no confirmation",
		})...)
	}
	return left
}

// deletedWithRun reports whether all volumes of a target are deleted with the run.
func deletedWithRun(target v1alpha1.Target) bool {
	return !slices.ContainsFunc(target.Volumes, func(volume v1alpha1.Volume) bool { return !claimDeletedWithRun(volume) })
}

// claimDeletedWithRun reports whether a volume and its claim are deleted with the run. It returns false if the claim
// may bind to an existing volume, because that volume may outlive the claim.
func claimDeletedWithRun(volume v1alpha1.Volume) bool {
	template := volume.ClaimTemplate
	return template != nil && template.Lifetime != v1alpha1.ClaimForBenchmark && !claims.AllowsExisting(template)
}

// dataPath returns the path of a client's directory, starting at the root of its volume.
func dataPath(run *v1alpha1.BenchmarkRun, target v1alpha1.Target, datasetHash string, index int) string {
	return path.Join("/", target.Path, v1alpha1.DataDirectory, run.Spec.BenchmarkRef.UID, datasetHash, "client-"+strconv.Itoa(index))
}
