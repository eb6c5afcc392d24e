package conductor

import (
	"fmt"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/engine/command"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
)

// commandRequest is what a client is told of a program of the user's. What its words stand for only the client
// knows.
func commandRequest(step plan.Step, key decide.ClientKey) *agentapi.LoadRequest {
	profile := step.Workloads[key.Target].Command
	tool := &agentapi.CommandTool{
		Setup: profile.Setup, WorkingDirectory: profile.WorkingDirectory, SuccessExitCodes: profile.SuccessExitCodes,
		SampleIntervalNanoseconds: int64(result.SampleInterval / time.Nanosecond),
	}
	if step.Purpose != plan.Prepare {
		tool.Command = profile.Command
	}
	request := &agentapi.LoadRequest{
		Dataset: &agentapi.Dataset{NewBytes: step.NewBytes[key.Target], MeasureUsage: true},
		Tool:    &agentapi.LoadRequest_Command{Command: tool},
	}
	if step.Kind != v1alpha1.PhaseRamp {
		request.Dataset.UsagePatienceNanoseconds = int64(usagePatience)
	}
	askForSpace(request, step, key.Target)
	return request
}

// maxSources of the API.
const maxSources = 4

// commandResult copies what is kept of a program's run, bounded and cleaned.
func commandResult(from *agentapi.CommandResult) (*agentapi.CommandResult, error) {
	if from == nil {
		return nil, nil //nolint:nilnil // It was no program.
	}
	if len(from.GetSources()) > maxSources || len(from.GetCommandLine()) > maxCommandWords {
		return nil, fmt.Errorf("it reports %d sources and a command line of %d words", len(from.GetSources()), len(from.GetCommandLine()))
	}
	if from.GetDurationNanoseconds() < 0 || from.GetFlushNanoseconds() < 0 || from.GetDurationNanoseconds() > maxInstant || from.GetFlushNanoseconds() > maxInstant {
		return nil, fmt.Errorf("its program ran for %d ns, and %d ns were flushed", from.GetDurationNanoseconds(), from.GetFlushNanoseconds())
	}
	known := map[string]bool{}
	for _, source := range from.GetSources() {
		if !command.Known(v1alpha1.CommandSource(source.GetSource())) || known[source.GetSource()] {
			return nil, fmt.Errorf("it reports the source %q, which is unknown or told already", clean(source.GetSource(), maxVersionLength))
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

// commandOf translates it.
func commandOf(from *agentapi.CommandResult) *result.Command {
	if from == nil {
		return nil
	}
	made := &result.Command{
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
