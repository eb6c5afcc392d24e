package conductor

import (
	"fmt"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/engine"
	"github.com/storagebench/storagebench/internal/engine/command"
)

// maxSources is the API's limit on the sources in a result. A source is a method of counting bytes.
const maxSources = 4

// commandResult returns the fields of a program's result that the conductor keeps, with bounded and sanitized values.
func commandResult(from *agentapi.CommandResult) (*agentapi.CommandResult, error) {
	if from == nil {
		return nil, nil //nolint:nilnil // The step did not run a program.
	}
	if len(from.GetSources()) > maxSources || len(from.GetCommandLine()) > maxCommandWords {
		return nil, fmt.Errorf("invalid result: too many sources (%d) or command-line arguments (%d)", len(from.GetSources()), len(from.GetCommandLine()))
	}
	if from.GetDurationNanoseconds() < 0 || from.GetFlushNanoseconds() < 0 || from.GetDurationNanoseconds() > maxInstant || from.GetFlushNanoseconds() > maxInstant {
		return nil, fmt.Errorf("invalid result: program duration of %d ns or flush of %d ns is out of range", from.GetDurationNanoseconds(), from.GetFlushNanoseconds())
	}
	known := map[string]bool{}
	for _, source := range from.GetSources() {
		if !command.Known(v1alpha1.CommandSource(source.GetSource())) || known[source.GetSource()] {
			return nil, fmt.Errorf("invalid result: source %q is unknown or a duplicate", clean(source.GetSource(), maxVersionLength))
		}
		known[source.GetSource()] = true
	}
	kept := &agentapi.CommandResult{
		ExitCode: from.GetExitCode(), DurationNanoseconds: from.GetDurationNanoseconds(), FlushNanoseconds: from.GetFlushNanoseconds(),
		CutShort: from.GetCutShort(), Sources: from.GetSources(),
	}
	for _, word := range from.GetCommandLine() {
		kept.CommandLine = append(kept.CommandLine, clean(word, maxWordLength))
	}
	return kept, nil
}

// commandOf converts the result of a program of the command engine from its protobuf message.
func commandOf(from *agentapi.CommandResult) *engine.Program {
	if from == nil {
		return nil
	}
	made := &engine.Program{
		CommandLine: from.GetCommandLine(), ExitCode: int(from.GetExitCode()), CutShort: from.GetCutShort(),
		Duration: time.Duration(from.GetDurationNanoseconds()), Flush: time.Duration(from.GetFlushNanoseconds()),
	}
	for _, source := range from.GetSources() {
		made.Counts = append(made.Counts, command.Count{
			Source: v1alpha1.CommandSource(source.GetSource()), ReadBytes: source.GetReadBytes(), WriteBytes: source.GetWriteBytes(),
			HasOperations: source.GetHasOperations(), ReadOperations: source.GetReadOperations(), WriteOperations: source.GetWriteOperations(),
		})
	}
	command.Sort(made.Counts)
	return made
}
