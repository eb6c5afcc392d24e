package volumes

import (
	"cmp"
	"fmt"
	"time"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
)

// reasonIncomplete is the failure reason of a step that did not write all of its layout.
const reasonIncomplete = "LayoutIncomplete"

const (
	// maxCachedShare is the maximum share of the files' bytes, or of the bytes that the step moved, that may be in the
	// page cache after direct I/O.
	maxCachedShare = 0.1
	// minMoved is the minimum number of bytes to compare the cached bytes with, even if the step moved fewer. It allows
	// for the pages that file systems always cache, such as those at the ends of files, and for pages that other programs
	// read.
	minMoved = 64 << 20
)

// findings is the result of examining the step's files.
type findings struct {
	// incomplete names a file of the layout that is provably incomplete. unsure is the reason why it is unknown whether
	// the layout is complete, or whether the step read only written data.
	incomplete error
	unsure     string
	// unnoted is the reason why a layout could not be recorded.
	unnoted   error
	unwritten uint64
	// cached says how many bytes are in the page cache if direct I/O did not bypass the cache.
	cached string
	space  spaceTaken
}

// Inspect examines the files after the tool has exited: whether a layout is complete, whether the step read bytes that
// were never written, and whether direct I/O bypassed the page cache. It closes the directory. The argument wrote
// states whether the tool wrote everything, according to the tool's own count.
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
	looked, outcome, moved, own := make(chan findings, 1), ended.GetOutcome(), f.moved(ended), *f
	go func() {
		looked <- own.look(outcome, wrote, moved)
		own.Close()
	}()
	var found findings
	select {
	case found = <-looked:
	case <-time.After(f.step.Timeouts.Files):
		tool.Fail(ended, tool.ReasonHung, "the file system did not answer within %s while the step's files were "+
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
	// Use the larger of the numbers before and after the step, because a step that also writes may fill holes after
	// reading them.
	ended.UnwrittenBytes = max(found.unwritten, f.unwritten)
	if found.cached != "" {
		tool.Warn(ended, "DirectIONotHonoured", "direct I/O was requested, but %s", found.cached)
	}
}

// look examines the files. The call may hang if the file system does not respond.
func (f *Files) look(outcome agentapi.Outcome, wrote Witness, moved uint64) findings {
	found := findings{unwritten: f.unwrittenNow()}
	if outcome == agentapi.Outcome_OUTCOME_COMPLETE {
		if found.unsure, found.incomplete = f.checkLayout(wrote); found.incomplete == nil {
			found.unnoted = f.remember()
		}
	}
	found.unsure = cmp.Or(found.unsure, f.unsure)
	if f.use.Direct {
		found.cached = f.judgeCached(moved)
	}
	found.space = f.spaceTaken(outcome)
	return found
}

// moved returns how many bytes the step read and wrote per volume, on average. It is 0 if that is unknown.
func (f *Files) moved(ended *agentapi.Ended) uint64 {
	var bytes uint64
	for _, operation := range ended.GetOperations() {
		bytes += operation.GetBytes()
	}
	return bytes / (1 + uint64(len(f.step.Request.GetMoreVolumes())))
}

// judgeCached says how many bytes are in the page cache after a step that moved the given number of bytes. It returns
// "" if direct I/O bypassed the page cache.
func (f *Files) judgeCached(moved uint64) string {
	cached, size := f.cached()
	if float64(cached) > maxCachedShare*float64(size) {
		return fmt.Sprintf("%d of the files' %d bytes are in the page cache", cached, size)
	}
	// A step may access only a small part of a large dataset, so also compare the cached bytes with the bytes moved.
	if moved > 0 && float64(cached) > maxCachedShare*float64(max(moved, minMoved)) {
		return fmt.Sprintf("%d bytes of the files are in the page cache after a step that moved %d", cached, moved)
	}
	return ""
}

// cached returns how many bytes of the step's files are in the page cache, and the size of the files. The pages of
// these files were dropped from the cache when the step was loaded.
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
