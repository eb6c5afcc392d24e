package agent

import (
	"fmt"
	"time"

	"github.com/storagebench/storagebench/internal/agentapi"
)

// maxCachedShare of the files' bytes may be in the page cache after direct I/O.
const maxCachedShare = 0.1

// findings is what a look at the step's files found.
type findings struct {
	incomplete   error
	unwritten    uint64
	cached, size uint64
}

// inspect looks at the files after the tool has ended: whether a layout is whole, whether reads met
// bytes that nobody wrote, whether direct I/O really left the page cache alone.
func (r *fioRun) inspect(ended *agentapi.Ended, watch *supervision) {
	if watch.hung != "" {
		// A look at them might not come back either.
		_ = r.directory.Close()
		return
	}
	looked := make(chan findings, 1)
	go func() {
		looked <- r.look()
		// Closing a directory that was only read can fail in no way that matters.
		_ = r.directory.Close()
	}()
	var found findings
	select {
	case found = <-looked:
	case <-time.After(r.step.agent.patient.files):
		ended.Outcome, ended.Reason = agentapi.Outcome_OUTCOME_FAILED, reasonHung
		ended.Message = fmt.Sprintf("the file system did not answer within %s when the step's files were looked at", r.step.agent.patient.files)
		return
	}
	if found.incomplete != nil && ended.GetOutcome() == agentapi.Outcome_OUTCOME_COMPLETE {
		ended.Outcome, ended.Reason, ended.Message = agentapi.Outcome_OUTCOME_FAILED, reasonIncomplete, found.incomplete.Error()
	}
	// A step that also writes may have filled what it had read before.
	ended.UnwrittenBytes = max(found.unwritten, r.step.unwritten)
	if float64(found.cached) > maxCachedShare*float64(found.size) {
		ended.Notices = append(ended.Notices, &agentapi.Notice{Warning: "DirectIONotHonoured",
			Message: fmt.Sprintf("direct I/O was asked for, and %d of the files' %d bytes are in the page cache", found.cached, found.size)})
	}
}

func (r *fioRun) look() findings {
	wanted := r.step.request.GetDataset()
	found := findings{
		incomplete: incomplete(r.directory, wanted.GetWrites()),
		unwritten:  unwritten(r.directory, wanted.GetReads()),
	}
	if r.step.request.GetFio().GetDirect() {
		found.cached, found.size = r.cached()
	}
	return found
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
