package agent

import (
	"context"
	"time"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/dataset"
)

const (
	// noticeUsage is the notice of why the usage is unknown.
	noticeUsage = "UsageUnknown"
	// usageTime bounds the examination of all files, of which there can be many. It is dead time between two phases.
	usageTime = 2 * time.Second
	// maxUsageTimeout limits the patience that a step may ask for.
	maxUsageTimeout = 10 * time.Second
)

// spaceTaken is the space that the files of a step take, or why that is unknown; both are empty if it was not asked
// for.
type spaceTaken struct {
	usage   *agentapi.Usage
	problem string
}

// spaceTaken measures the space that the files of the step's directory take, if that was asked for. The tool must be
// gone. The call may hang with the file system.
func (s *step) spaceTaken(outcome agentapi.Outcome, directory *dataset.Dataset) spaceTaken {
	if !s.wantsUsage(outcome) {
		return spaceTaken{}
	}
	timeout := min(max(time.Duration(s.request.GetDataset().GetUsagePatienceNanoseconds()), 0), maxUsageTimeout)
	ctx, cancel := context.WithTimeout(context.Background(), usageTime+timeout)
	defer cancel()
	go func() {
		// An agent that has to leave does not wait for a figure.
		select {
		case <-s.abandoned:
			cancel()
		case <-ctx.Done():
		}
	}()
	found, err := directory.SettledUsage(ctx, dataset.MaxUsageFiles, timeout)
	if err != nil {
		return spaceTaken{problem: "how much space the files take is not told: " + err.Error()}
	}
	return spaceTaken{usage: usageOf(found, directory.Mount())}
}

// tell adds the result to the end of the step.
func (t spaceTaken) tell(ended *agentapi.Ended) {
	ended.Usage = t.usage
	if t.problem != "" {
		ended.Notices = append(ended.Notices, &agentapi.Notice{Warning: noticeUsage, Message: t.problem})
	}
}

// wantsUsage reports whether to measure the space. In a shared directory only client 0 does, because otherwise it
// would count several times.
func (s *step) wantsUsage(outcome agentapi.Outcome) bool {
	if !s.request.GetDataset().GetMeasureUsage() || s.request.GetMpi().GetShared() && s.agent.config.Client != 0 {
		return false
	}
	return outcome == agentapi.Outcome_OUTCOME_COMPLETE || outcome == agentapi.Outcome_OUTCOME_STOPPED
}

func usageOf(found dataset.Usage, mount dataset.Mount) *agentapi.Usage {
	usage := &agentapi.Usage{
		ApparentBytes:  found.ApparentBytes,
		AllocatedBytes: found.AllocatedBytes,
		Files:          found.Files,
		DataBytes:      found.DataBytes,
		HolesKnown:     found.HolesKnown,
		Settled:        found.Settled,
		FilesystemType: mount.FilesystemType,
		Compression:    string(mount.Compression()),
	}
	for _, of := range found.Types {
		usage.Types = append(usage.Types, &agentapi.TypeUsage{Extension: of.Extension, ApparentBytes: of.ApparentBytes,
			AllocatedBytes: of.AllocatedBytes, Files: of.Files, DataBytes: of.DataBytes})
	}
	return usage
}
