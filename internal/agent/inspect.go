package agent

import (
	"fmt"
	"time"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/dataset"
)

// maxCachedShare is the share of the files' bytes that may be in the page cache after direct I/O.
const maxCachedShare = 0.1

// findings is the result of examining the step's files.
type findings struct {
	layoutState

	// unnoted is why a layout could not be recorded.
	unnoted      error
	unwritten    uint64
	cached, size uint64
	space        spaceTaken
}

// inspect examines the files after the tool has exited: whether a layout is complete, whether the step read bytes
// that were never written, and whether direct I/O really bypassed the page cache. It closes the directory. tool is
// the evidence of the tool's own write count.
func (s *step) inspect(ended *agentapi.Ended, directory *dataset.Dataset, tool witness, hung bool) {
	if hung {
		// Examining the files could hang as well.
		_ = directory.Close()
		return
	}
	looked, outcome := make(chan findings, 1), ended.GetOutcome()
	go func() {
		found := findings{unwritten: s.unwrittenOf(directory)}
		if outcome == agentapi.Outcome_OUTCOME_COMPLETE {
			if found.layoutState = s.layoutOf(directory, tool); found.incomplete == nil {
				found.unnoted = s.remember(directory)
			}
		}
		if s.direct() {
			found.cached, found.size = s.cached(directory)
		}
		found.space = s.spaceTaken(outcome, directory)
		looked <- found
		// The directory was only read, so an error of Close does not matter.
		_ = directory.Close()
	}()
	var found findings
	select {
	case found = <-looked:
	case <-time.After(s.agent.timeouts.files):
		ended.Outcome, ended.Reason = agentapi.Outcome_OUTCOME_FAILED, reasonHung
		ended.Message = fmt.Sprintf("the file system did not answer within %s when the step's files were looked at", s.agent.timeouts.files)
		return
	}
	if found.incomplete != nil {
		ended.Outcome, ended.Reason, ended.Message = agentapi.Outcome_OUTCOME_FAILED, reasonIncomplete, found.incomplete.Error()
	}
	if found.unnoted != nil {
		ended.Notices = append(ended.Notices, &agentapi.Notice{Warning: "ToolMessages",
			Message: fmt.Sprintf("the layout cannot be recorded, so the next run writes it again: %s", found.unnoted)})
	}
	found.space.tell(ended)
	if unsure := firstOf(found.unsure, s.unsure); unsure != "" {
		ended.Notices = append(ended.Notices, &agentapi.Notice{Warning: noticeUnsure, Message: unsure})
	}
	// A step that also writes may have filled holes that it had read before.
	ended.UnwrittenBytes = max(found.unwritten, s.unwritten)
	if float64(found.cached) > maxCachedShare*float64(found.size) {
		ended.Notices = append(ended.Notices, &agentapi.Notice{Warning: "DirectIONotHonoured",
			Message: fmt.Sprintf("direct I/O was asked for, and %d of the files' %d bytes are in the page cache", found.cached, found.size)})
	}
}

// direct reports whether the step requests direct I/O, which bypasses the page cache.
func (s *step) direct() bool { return s.request.GetFio().GetDirect() || s.request.GetMpi().GetDirect() }

// cached returns how many bytes of the step's files are in the page cache, and the size of the files. Their pages
// were dropped from the cache when the step was loaded.
func (s *step) cached(directory *dataset.Dataset) (cached, size uint64) {
	for _, file := range s.request.GetDataset().GetFiles() {
		bytes, err := directory.CachedBytes(file.GetName())
		if err != nil {
			continue
		}
		if coverage, err := directory.Written(file.GetName()); err == nil {
			cached += bytes
			size += coverage.ApparentBytes
		}
	}
	return cached, size
}
