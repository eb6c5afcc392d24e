package benchmarkrun

import (
	"fmt"
	"path"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/conductor"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/objects"
)

// finishing says that the agents were told, or are to be told, to tidy up.
func finishing(run *v1alpha1.BenchmarkRun) bool {
	return meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionDataRemoved) != nil
}

// finishOptions say what the agents of a target remove: their own data, and that of clients that
// were lost, where they share the volume.
func (s *session) finishOptions(target v1alpha1.Target, remove bool) conductor.FinishOptions {
	options := conductor.FinishOptions{RemoveData: remove, Left: s.leftOf(target)}
	if !remove || !shared(target) {
		return options
	}
	var lost []int
	for _, key := range s.of(target.Name) {
		if s.members[key].lost {
			lost = append(lost, key.Index)
		}
	}
	options.AlsoRemove = func(decide.ClientKey) []int { return lost }
	return options
}

// shared reports whether all clients of a target are on the same volumes.
func shared(target v1alpha1.Target) bool {
	for _, volume := range target.Volumes {
		if volume.ClaimTemplate != nil && volume.ClaimTemplate.Scope == v1alpha1.ClaimPerClient {
			return false
		}
	}
	return true
}

// leftovers are the directories of which nobody has said that they are removed. A client whose agent
// was never there has made none, and a claim that goes with the run takes its data with it.
func leftovers(run *v1alpha1.BenchmarkRun, s *session) []v1alpha1.DataLeft {
	var left []v1alpha1.DataLeft
	for _, target := range run.Spec.Run.Targets {
		if target.DataPolicy == v1alpha1.DataRetain || goesWithRun(target) {
			continue
		}
		tidied := false
		for _, key := range s.of(target.Name) {
			answer := s.answer(key)
			tidied = tidied || answer.GetDataRemoved()
		}
		for _, key := range s.of(target.Name) {
			if why := leftBy(s, key, tidied && shared(target)); why != "" {
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

// eachVolume is what was left on every volume of a target that has directories: a raw device has none, and of one whose
// claim goes with the run nothing stays.
func eachVolume(target v1alpha1.Target, on objects.Storage, left v1alpha1.DataLeft) []v1alpha1.DataLeft {
	var all []v1alpha1.DataLeft
	for _, volume := range target.Volumes {
		ends := volume.ClaimTemplate != nil && volume.ClaimTemplate.Lifetime != v1alpha1.ClaimForBenchmark
		if ends || slices.Contains(on.Devices, volume.Name) || slices.Contains(on.ReadOnly, volume.Name) {
			continue
		}
		left.Volume = volume.Name
		all = append(all, left)
	}
	return all
}

// leftBy is why a client's data may still be there; empty when it is not. byOthers says that another
// client of the same volume has removed what lost ones left.
func leftBy(s *session, key decide.ClientKey, byOthers bool) string {
	m, answer := s.members[key], s.answer(key)
	switch {
	case answer.GetProblem() != "":
		return answer.GetProblem()
	case answer != nil, m.tidy, !m.met:
		return ""
	case m.lost && byOthers:
		return ""
	}
	return fmt.Sprintf("client %s was lost before it could say that its data is removed", key)
}

// unseen are the directories of a run that nobody could conduct to its end: its agents are told to
// end, and remove their data, but not seen to do so.
func unseen(run *v1alpha1.BenchmarkRun) []v1alpha1.DataLeft {
	var left []v1alpha1.DataLeft
	for _, target := range run.Spec.Run.Targets {
		if target.DataPolicy == v1alpha1.DataRetain || goesWithRun(target) {
			continue
		}
		left = append(left, eachVolume(target, objects.Storage{}, v1alpha1.DataLeft{
			Target: target.Name,
			Path:   path.Join("/", target.Path, v1alpha1.DataDirectory, run.Spec.BenchmarkRef.UID),
			Reason: "its agents were told to remove it when their pods were deleted, and nobody saw whether they did",
		})...)
	}
	return left
}

// goesWithRun reports whether all claims of a target end with the run.
func goesWithRun(target v1alpha1.Target) bool {
	for _, volume := range target.Volumes {
		if volume.ClaimTemplate == nil || volume.ClaimTemplate.Lifetime == v1alpha1.ClaimForBenchmark {
			return false
		}
	}
	return true
}

// dataPath is a client's directory, from the root of its volume.
func dataPath(run *v1alpha1.BenchmarkRun, target v1alpha1.Target, datasetHash string, index int) string {
	return path.Join("/", target.Path, v1alpha1.DataDirectory, run.Spec.BenchmarkRef.UID, datasetHash, "client-"+strconv.Itoa(index))
}
