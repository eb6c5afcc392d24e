package benchmarkrun

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

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

// remainingData returns the directories and raw devices on which data may remain because no agent has confirmed its
// removal. It omits clients whose agents never answered, because they have written nothing, and claims that are deleted
// with the run.
func remainingData(run *v1alpha1.BenchmarkRun, s *session) []v1alpha1.DataLeft {
	var left []v1alpha1.DataLeft
	for _, target := range run.Spec.Run.Targets {
		if target.DataPolicy == v1alpha1.DataRetain || deletedWithRun(target) {
			continue
		}
		for _, key := range s.of(target.Name) {
			if why := whyLeft(s, key); why != "" {
				left = append(left, eachVolume(run, target, s.storage(target.Name), []int{key.Index}, v1alpha1.DataLeft{
					Target: target.Name,
					Path:   dataPath(run, target, s.plan.DatasetHash, key.Index),
					Reason: why,
				})...)
			}
		}
	}
	return left
}

// eachVolume returns the entries of status.dataLeft for a target: one for each volume on which data may remain after
// the run. Each entry is a copy of the given one, with the name of the volume. Raw devices have no directories and are
// not shared, so they have an entry for each of the given clients instead, with the path of the device. eachVolume
// omits volumes to which the run could not write, volumes whose claim is deleted with the run, and volumes to which the
// given reason does not apply.
func eachVolume(run *v1alpha1.BenchmarkRun, target v1alpha1.Target, on objects.Storage, clients []int, left v1alpha1.DataLeft) []v1alpha1.DataLeft {
	var all []v1alpha1.DataLeft
	for _, volume := range target.Volumes {
		if claimDeletedWithRun(volume) || slices.Contains(on.ReadOnly, volume.Name) || !concerns(left.Reason, volume.Name, target.Volumes) {
			continue
		}
		left.Volume = volume.Name
		switch {
		case !isDevice(run, target.Name, volume, on):
			all = append(all, left)
		case target.AllowRawDeviceWrites != nil && *target.AllowRawDeviceWrites:
			for _, client := range clients {
				all = append(all, onDevice(left, objects.ClaimName(run, target, volume, client)))
			}
		}
	}
	return all
}

// concerns reports whether the reason why data remains applies to the given volume. An agent's reason names each volume
// from which the agent could not remove the data. A reason that names no volume applies to all volumes of the target.
func concerns(reason, volume string, volumes []v1alpha1.Volume) bool {
	named := func(name string) bool { return strings.Contains("; "+reason, "; volume "+name+": ") }
	return named(volume) || !slices.ContainsFunc(volumes, func(other v1alpha1.Volume) bool { return named(other.Name) })
}

// onDevice makes an entry of status.dataLeft describe a raw device. The path of the device is the same in every client,
// so the reason names the claim. The remedy precedes the cause because a long reason is truncated.
func onDevice(left v1alpha1.DataLeft, claim string) v1alpha1.DataLeft {
	left.Path = objects.DevicePath(left.Volume)
	left.Reason = fmt.Sprintf("data may remain on the device of claim %s: wipe it (blkdiscard -z, or dd if=/dev/zero) if its content is not needed: %s", claim, left.Reason)
	return left
}

// isDevice reports whether a volume is a raw device. Claims are not inspected again if the operator restarts while a run
// ends. In that case, the mode of an existing claim is inferred from what clients reported when they connected: a raw
// device has a size but no file system.
func isDevice(run *v1alpha1.BenchmarkRun, target string, volume v1alpha1.Volume, on objects.Storage) bool {
	if volume.ClaimTemplate != nil {
		return claims.Raw(&volume.ClaimTemplate.Spec)
	}
	return slices.Contains(on.Devices, volume.Name) || slices.ContainsFunc(run.Status.Environments, func(e v1alpha1.Environment) bool {
		return e.Target == target && slices.ContainsFunc(e.Volumes, func(mounted v1alpha1.MountedVolume) bool {
			return mounted.Name == volume.Name && mounted.FileSystem == "" && mounted.SizeBytes > 0
		})
	})
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

// unconfirmedData returns the directories and raw devices on which data may remain after a run that the operator can no
// longer conduct. The agents exit and remove their data when their pods are deleted, but the operator does not see
// whether they do. Agents write data only for steps, and each step is recorded before its load starts.
func unconfirmedData(run *v1alpha1.BenchmarkRun) []v1alpha1.DataLeft {
	if len(run.Status.Steps) == 0 {
		return nil
	}
	clients := make([]int, clientsOf(run))
	for i := range clients {
		clients[i] = i
	}
	var left []v1alpha1.DataLeft
	for _, target := range run.Spec.Run.Targets {
		if target.DataPolicy == v1alpha1.DataRetain || deletedWithRun(target) {
			continue
		}
		left = append(left, eachVolume(run, target, objects.Storage{}, clients, v1alpha1.DataLeft{
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
