package record

import (
	"encoding/json"
	"slices"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine/engines"
	"github.com/storagebench/storagebench/internal/limits"
)

// Limits for the contents of a status. Unless a comment states otherwise, they are the API's limits.
const (
	// maxConditionMessage limits the message of a condition. It is far below the API's limit, because users read
	// conditions on a terminal.
	maxConditionMessage = 1024
	maxReason           = 512
	maxStepMessage      = 512
	maxConclusion       = 256
	maxPath             = 1024
	maxEnvironments     = 16
	maxLostClients      = 64
	maxDataLeft         = 32
	maxSteps            = 1024
	// maxStatusBytes limits the JSON of a status; maxLongStatusBytes limits it for a run with more than longRun
	// steps. In a sweep of 256 cells, the step states alone need over 64 KiB.
	maxStatusBytes     = 64 << 10
	maxLongStatusBytes = 384 << 10
	longRun            = 64
)

// bound truncates what clients report about themselves to the limits of the API, and masks secrets.
func bound(e *v1alpha1.Environment) {
	e.Target = v1alpha1.Truncate(e.Target, 40)
	e.AgentVersion = v1alpha1.Truncate(e.AgentVersion, 128)
	e.ToolVersion = v1alpha1.Truncate(e.ToolVersion, 128)
	e.Kernel = v1alpha1.Truncate(e.Kernel, 128)
	e.Architecture = v1alpha1.Truncate(e.Architecture, 32)
	if !engines.Known(e.Engine) {
		e.Engine = "" // the API rejects a status with an unknown engine
	}
	e.Volumes = slices.Clone(e.Volumes[:min(len(e.Volumes), 16)])
	for i := range e.Volumes {
		volume := &e.Volumes[i]
		volume.Name = v1alpha1.Truncate(volume.Name, 40)
		volume.FileSystem = v1alpha1.Truncate(volume.FileSystem, 64)
		volume.Source = v1alpha1.Truncate(volume.Source, 512)
		// Users who can read the run are not necessarily allowed to see the mounts of its pods.
		volume.Options = v1alpha1.Truncate(limits.PlainOptions([]string{volume.Options})[0], 1024)
	}
}

// fit shrinks a status that is too large. It first shortens texts and then drops details. It never drops the main
// figures or the types of disqualifying warnings, so the status can remain too large if a run has very many targets and
// phases.
func fit(run *v1alpha1.BenchmarkRun) {
	status := &run.Status
	most := maxStatusBytes
	if len(run.Spec.Steps) > longRun {
		most = maxLongStatusBytes
	}
	if over := len(status.Steps) - maxSteps; over > 0 {
		dropRepeated(status, over)
	}
	for _, less := range []func(*v1alpha1.BenchmarkRunStatus){
		shortenEvidence(2, 160), omitObservations(64), shortenMessages(160), shortenStorage(160), omitRepetitions(8), shortenVolumes, dropInfo, shortenObjectives(160), dropUsageTypes, dropHistograms, dropSuspects(3),
		dropCompletionLatency, omitObservations(16), dropComparisons, omitRepetitions(2), shortenEvidence(0, 0), shortenStorage(0), shortenMessages(60), shortenObjectives(60), dropSuspects(1),
		dropRepeatedMessages,
	} {
		if size(status) <= most {
			return
		}
		less(status)
	}
}

func size(status *v1alpha1.BenchmarkRunStatus) int {
	encoded, err := json.Marshal(status)
	if err != nil {
		return 0
	}
	return len(encoded)
}

// dropRepeated drops at most count attempts that have been repeated, oldest first.
func dropRepeated(status *v1alpha1.BenchmarkRunStatus, count int) {
	newest := map[string]int32{}
	for _, fact := range status.Steps {
		newest[fact.ID] = max(newest[fact.ID], fact.Attempt)
	}
	status.Steps = slices.DeleteFunc(status.Steps, func(fact v1alpha1.StepStatus) bool {
		if count == 0 || fact.Attempt == newest[fact.ID] {
			return false
		}
		count--
		return true
	})
}

func dropRepeatedMessages(status *v1alpha1.BenchmarkRunStatus) {
	for i := range status.Steps {
		if fact := &status.Steps[i]; fact.State == v1alpha1.StepFailed {
			fact.Message = v1alpha1.Truncate(fact.Message, 60)
		}
	}
	dropRepeated(status, len(status.Steps))
}

func eachTarget(status *v1alpha1.BenchmarkRunStatus, do func(*v1alpha1.TargetResult)) {
	for i := range status.Phases {
		for j := range status.Phases[i].Targets {
			do(&status.Phases[i].Targets[j])
		}
	}
}

func shortenMessages(length int) func(*v1alpha1.BenchmarkRunStatus) {
	return func(status *v1alpha1.BenchmarkRunStatus) {
		eachTarget(status, func(target *v1alpha1.TargetResult) {
			for i := range target.Warnings {
				warning := &target.Warnings[i]
				warning.Message = v1alpha1.Truncate(warning.Message, length)
				warning.Clients = warning.Clients[:min(len(warning.Clients), 4)]
			}
		})
		for i := range status.LostClients {
			status.LostClients[i].Reason = v1alpha1.Truncate(status.LostClients[i].Reason, length)
		}
		for i := range status.DataLeft {
			status.DataLeft[i].Reason = v1alpha1.Truncate(status.DataLeft[i].Reason, length)
		}
	}
}

func shortenVolumes(status *v1alpha1.BenchmarkRunStatus) {
	for i := range status.Environments {
		e := &status.Environments[i]
		e.Volumes = e.Volumes[:min(len(e.Volumes), 4)]
		for j := range e.Volumes {
			volume := &e.Volumes[j]
			volume.Options = ""
			volume.Source = v1alpha1.Truncate(volume.Source, 64)
			volume.FileSystem = v1alpha1.Truncate(volume.FileSystem, 32)
		}
	}
}

func dropInfo(status *v1alpha1.BenchmarkRunStatus) {
	eachTarget(status, func(target *v1alpha1.TargetResult) {
		target.Warnings = slices.DeleteFunc(target.Warnings, func(w v1alpha1.Warning) bool { return w.Severity == v1alpha1.SeverityInfo })
	})
}

// omitRepetitions keeps at most `most` repetitions of each IOR operation, and the figures that summarize all of them.
func omitRepetitions(most int) func(*v1alpha1.BenchmarkRunStatus) {
	return func(status *v1alpha1.BenchmarkRunStatus) {
		eachTarget(status, func(target *v1alpha1.TargetResult) { engines.OmitRepetitions(target, most) })
	}
}

func dropCompletionLatency(status *v1alpha1.BenchmarkRunStatus) {
	eachTarget(status, func(target *v1alpha1.TargetResult) {
		for i := range target.Operations {
			target.Operations[i].CompletionLatency = nil
		}
	})
}
