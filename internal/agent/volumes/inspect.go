package volumes

import (
	"cmp"
	"time"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
)

// reasonIncomplete is the failure reason of a step that did not write all of its layout.
const reasonIncomplete = "LayoutIncomplete"

// maxCachedShare is the maximum share of the files' bytes that may be in the page cache after direct I/O.
const maxCachedShare = 0.1

// findings is the result of examining the step's files.
type findings struct {
	// incomplete names a file of the layout that is provably incomplete. unsure is the reason why it could not be proven
	// that the layout is complete, or that the step read only written data.
	incomplete error
	unsure     string
	// unnoted is the reason why a layout could not be recorded.
	unnoted      error
	unwritten    uint64
	cached, size uint64
	space        spaceTaken
}

// Inspect examines the files after the tool has exited: whether a layout is complete, whether the step read bytes that
// were never written, and whether direct I/O bypassed the page cache. It closes the directory. wrote states whether the
// tool wrote everything, according to the tool's own count.
func (f *Files) Inspect(ended *agentapi.Ended, wrote Witness, hung bool) {
	defer func() { f.Dataset = nil }()
	if f.device != nil {
		f.inspectDevice(ended, hung)
		return
	}
	if hung {
		f.Close() // Do not examine the files: the tool hung, so the examination could hang too.
		return
	}
	// The goroutine may outlive this call, so it gets its own copy of f and closes the directory itself.
	looked, outcome, own := make(chan findings, 1), ended.GetOutcome(), *f
	go func() {
		looked <- own.look(outcome, wrote)
		own.Close()
	}()
	var found findings
	select {
	case found = <-looked:
	case <-time.After(f.step.Timeouts.Files):
		tool.Fail(ended, tool.ReasonHung, "the file system did not answer within %s when the step's files were "+
			"examined", f.step.Timeouts.Files)
		return
	}
	if found.incomplete != nil {
		tool.Fail(ended, reasonIncomplete, "%s", found.incomplete)
	}
	if found.unnoted != nil {
		tool.Warn(ended, "ToolMessages", "the layout cannot be recorded, so the next run writes it again: %s",
			found.unnoted)
	}
	found.space.tell(ended)
	if found.unsure != "" {
		tool.Warn(ended, noticeUnsure, "%s", found.unsure)
	}
	// Use the larger of the numbers before and after the step: a step that also writes may fill holes after reading
	// them.
	ended.UnwrittenBytes = max(found.unwritten, f.unwritten)
	if float64(found.cached) > maxCachedShare*float64(found.size) {
		tool.Warn(ended, "DirectIONotHonoured", "direct I/O was requested, but %d of the files' %d bytes are in the "+
			"page cache",
			found.cached, found.size)
	}
}

// look examines the files. The call may hang if the file system does not respond.
func (f *Files) look(outcome agentapi.Outcome, wrote Witness) findings {
	found := findings{unwritten: f.unwrittenNow()}
	if outcome == agentapi.Outcome_OUTCOME_COMPLETE {
		if found.unsure, found.incomplete = f.checkLayout(wrote); found.incomplete == nil {
			found.unnoted = f.remember()
		}
	}
	found.unsure = cmp.Or(found.unsure, f.unsure)
	if f.use.Direct {
		found.cached, found.size = f.cached()
	}
	found.space = f.spaceTaken(outcome)
	return found
}

// cached returns how many bytes of the step's files are in the page cache, and the size of the files. Their pages
// were dropped from the cache when the step was loaded.
func (f *Files) cached() (cached, size uint64) {
	for _, file := range f.request.GetDataset().GetFiles() {
		bytes, err := f.CachedBytes(file.GetName())
		if err != nil {
			continue
		}
		if coverage, err := f.Written(file.GetName()); err == nil {
			cached += bytes
			size += coverage.ApparentBytes
		}
	}
	return cached, size
}
