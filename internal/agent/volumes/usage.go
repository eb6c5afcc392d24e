package volumes

import (
	"context"
	"time"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/dataset"
)

const (
	// noticeUsage is the type of the notice that the disk usage is unknown. The notice contains the reason.
	noticeUsage = "UsageUnknown"
	// usageTime limits the time for examining all files, of which there can be many. The files are examined between two
	// phases, while the client is idle.
	usageTime = 2 * time.Second
	// maxUsageTimeout limits the timeout that a step may request.
	maxUsageTimeout = 10 * time.Second
)

// spaceTaken is the disk usage of a step's files, or the reason why it is unknown. Both are empty if the disk usage was
// not requested.
type spaceTaken struct {
	usage   *agentapi.Usage
	problem string
}

// spaceTaken measures the disk usage of the files in the step's directory, if requested. The tool must have exited. The
// call may hang if the file system does not respond.
func (f *Files) spaceTaken(outcome agentapi.Outcome) spaceTaken {
	if !f.wantsUsage(outcome) {
		return spaceTaken{}
	}
	timeout := min(max(time.Duration(f.request.GetDataset().GetUsagePatienceNanoseconds()), 0), maxUsageTimeout)
	ctx, cancel := context.WithTimeout(context.Background(), usageTime+timeout)
	defer cancel()
	go func() {
		// Do not wait for the disk usage if the agent must exit.
		select {
		case <-f.step.Abandoned:
			cancel()
		case <-ctx.Done():
		}
	}()
	found, err := f.SettledUsage(ctx, dataset.MaxUsageFiles, timeout)
	if err != nil {
		return spaceTaken{problem: "cannot determine the disk usage of the files: " + err.Error()}
	}
	return spaceTaken{usage: usageOf(found, f.Mount())}
}

// tell adds the disk usage, or the reason why it is unknown, to the step's end record.
func (t spaceTaken) tell(ended *agentapi.Ended) {
	ended.Usage = t.usage
	if t.problem != "" {
		tool.Warn(ended, noticeUsage, "%s", t.problem)
	}
}

// wantsUsage reports whether to measure the disk usage.
func (f *Files) wantsUsage(outcome agentapi.Outcome) bool {
	return f.request.GetDataset().GetMeasureUsage() && !f.use.NoUsage &&
		(outcome == agentapi.Outcome_OUTCOME_COMPLETE || outcome == agentapi.Outcome_OUTCOME_STOPPED)
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
