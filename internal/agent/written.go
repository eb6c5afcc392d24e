package agent

import (
	"context"
	"fmt"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/dataset"
	"github.com/storagebench/storagebench/internal/measure"
)

// noticeUnsure is the notice that it is unknown how much of the files was written.
const noticeUnsure = "WrittenUnknown"

// witness is the evidence that the tool's own count of completed writes gives about a layout.
type witness int

const (
	// witnessNone means that the tool reports no such count.
	witnessNone witness = iota
	// witnessAll means that the tool wrote all of the layout, witnessLess that it wrote less.
	witnessAll
	witnessLess
)

// toolWrote compares the tool's own count with the layout. The count of MPI ranks is one of system calls and is not
// used.
func (s *step) toolWrote(ended *agentapi.Ended) witness {
	expected := s.request.GetFio().GetWrittenBytes()
	if s.request.GetFio() == nil {
		return witnessNone
	}
	if expected == 0 {
		for _, file := range s.request.GetDataset().GetWrites() {
			expected += file.GetBytes()
		}
	}
	var written uint64
	for _, operation := range ended.GetOperations() {
		if operation.GetOperation() == uint32(measure.Write) {
			written += operation.GetBytes()
		}
	}
	if written < expected {
		return witnessLess
	}
	return witnessAll
}

// layoutState is the result of examining a layout.
type layoutState struct {
	// incomplete is the proof that a file is incomplete; unsure is why completeness is not proven.
	incomplete error
	unsure     string
}

// layoutOf checks the files that a step should have filled. The file system's figures prove nothing while an
// attribute cache returns old ones. So unless the tool's own count shows that everything was written, layoutOf
// waits for the cache to expire. If the figures still prove nothing, the tool's count decides; without a count, the
// doubt becomes a warning.
func (s *step) layoutOf(directory *dataset.Dataset, tool witness) layoutState {
	ctx, cancel := context.WithTimeout(context.Background(), directory.Mount().Lateness())
	defer cancel()
	var found layoutState
	for _, file := range s.request.GetDataset().GetWrites() {
		coverage, err := directory.Written(file.GetName())
		if err == nil && (coverage.ApparentBytes < file.GetBytes() || coverage.Doubtful && tool != witnessAll) {
			coverage, err = directory.Settled(ctx, file.GetName(), file.GetBytes())
		}
		if err != nil {
			return layoutState{incomplete: fmt.Errorf("check the layout: %w", err)}
		}
		short := fmt.Sprintf("file %s holds %d written bytes of %d", file.GetName(), coverage.WrittenBytes, file.GetBytes())
		switch {
		case coverage.ApparentBytes < file.GetBytes(), !coverage.Complete() && !coverage.Doubtful:
			return layoutState{incomplete: fmt.Errorf("%s", short)}
		case coverage.Complete(), tool == witnessAll:
			s.agent.whole.add(directory, file.GetName(), coverage.ApparentBytes)
		case tool == witnessLess:
			return layoutState{incomplete: fmt.Errorf("%s, and the tool wrote less than all of it", short)}
		case found.unsure == "":
			found.unsure = fmt.Sprintf("%s by the space that it takes on %s, which may be reported late or after compression",
				short, directory.Mount().FilesystemType)
		}
	}
	return found
}

// unwrittenOf returns how many of the bytes that the step may read have provably never been written. If neither the
// file system nor the layouts seen by this agent prove anything, it sets s.unsure.
func (s *step) unwrittenOf(directory *dataset.Dataset) uint64 {
	ctx, cancel := context.WithTimeout(context.Background(), directory.Mount().Lateness())
	defer cancel()
	if s.unsure != "" {
		cancel() // Do not wait: the attribute cache has already expired.
	}
	var missing uint64
	unsure := ""
	for _, file := range s.request.GetDataset().GetReads() {
		coverage, err := directory.Written(file.GetName())
		if err == nil && coverage.Doubtful {
			if s.isWhole(directory, file.GetName(), coverage.ApparentBytes) {
				continue
			}
			coverage, err = directory.Settled(ctx, file.GetName(), 0)
		}
		switch {
		case err != nil || coverage.Complete():
		case !coverage.Doubtful:
			missing += coverage.ApparentBytes - coverage.WrittenBytes
		case unsure == "":
			unsure = fmt.Sprintf("file %s has %d bytes and takes %d on %s: parts of it may never have been written, or are compressed",
				file.GetName(), coverage.ApparentBytes, coverage.BlockBytes, directory.Mount().FilesystemType)
		}
	}
	if s.unsure == "" {
		s.unsure = unsure
	}
	return missing
}

// isWhole reports whether a file was laid out completely, as seen by this agent or as recorded beside the file.
func (s *step) isWhole(directory *dataset.Dataset, name string, bytes uint64) bool {
	if s.agent.whole.has(directory, name, bytes) {
		return true
	}
	known, err := s.agent.laidOut.read(directory)
	noted, found := known[name]
	return err == nil && found && noted.Bytes >= bytes
}
