package agent

import (
	"fmt"

	"github.com/storagebench/storagebench/internal/agentapi"
)

// maxCachedShare of the files' bytes may be in the page cache after direct I/O.
const maxCachedShare = 0.1

// inspect looks at the files after the tool has ended: whether a layout is whole, whether reads met
// bytes that nobody wrote, whether direct I/O really left the page cache alone.
func (r *fioRun) inspect(ended *agentapi.Ended) {
	wanted := r.step.request.GetDataset()
	if ended.GetOutcome() == agentapi.Outcome_OUTCOME_COMPLETE {
		if err := incomplete(r.directory, wanted.GetWrites()); err != nil {
			ended.Outcome, ended.Reason, ended.Message = agentapi.Outcome_OUTCOME_FAILED, "LayoutIncomplete", err.Error()
		}
	}
	ended.UnwrittenBytes = unwritten(r.directory, wanted.GetReads())
	if r.step.request.GetFio().GetDirect() {
		if cached, size := r.cached(); float64(cached) > maxCachedShare*float64(size) {
			ended.Notices = append(ended.Notices, &agentapi.Notice{Warning: "DirectIONotHonoured",
				Message: fmt.Sprintf("direct I/O was asked for, and %d of the files' %d bytes are in the page cache", cached, size)})
		}
	}
	if err := r.directory.Close(); err != nil {
		r.stderr.note(err.Error())
	}
}

// cached is how much of the step's files is in the page cache, and how large they are. They were
// dropped from it when the step was loaded.
func (r *fioRun) cached() (cached, size uint64) {
	for _, file := range r.step.request.GetDataset().GetFiles() {
		bytes, err := r.directory.CachedBytes(file.GetName())
		if err != nil {
			continue
		}
		if coverage, err := r.directory.Written(file.GetName()); err == nil {
			cached += bytes
			size += coverage.ApparentBytes
		}
	}
	return cached, size
}
