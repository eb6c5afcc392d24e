package agent

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/engine/command"
)

// result assembles the Ended record of the run.
func (r *commandRun) result(end *commandEnd) *agentapi.Ended {
	ended := &agentapi.Ended{
		Outcome: agentapi.Outcome_OUTCOME_COMPLETE, ExitCode: int64(r.told.exit.ExitCode()), ToolMessages: r.output.String(),
		IoStartNanoseconds: end.start, IoEndNanoseconds: end.flushed, Cpu: r.cpu.end(r.step.agent.clock, end.exit),
	}
	r.judge(ended, end)
	if end.remains {
		return ended // counters of a process that still runs are not final
	}
	ended.Command = &agentapi.CommandResult{
		CommandLine: r.words, ExitCode: int32(r.told.exit.ExitCode()), //nolint:gosec // Exit codes have eight bits.
		DurationNanoseconds: end.endedAt - end.start, FlushNanoseconds: max(0, end.flushed-end.endedAt),
		CutShort: end.stopped != "" || end.hung != "",
		Sources:  r.sources.end(end.done),
	}
	operations, err := operationResults(end.done)
	if err != nil {
		ended.Outcome, ended.Reason, ended.Message = agentapi.Outcome_OUTCOME_FAILED, reasonInvalid, err.Error()
		return ended
	}
	ended.Operations = operations
	r.remark(ended, end)
	return ended
}

// judge sets the program's outcome, reason and message.
func (r *commandRun) judge(ended *agentapi.Ended, end *commandEnd) {
	fail := func(reason, format string, arguments ...any) {
		ended.Outcome, ended.Reason, ended.Message = agentapi.Outcome_OUTCOME_FAILED, reason, fmt.Sprintf(format, arguments...)
	}
	usual, name := reasonCommand, filepath.Base(r.words[0])
	if r.setup {
		usual, name = reasonSetup, "the setup, "+name+","
	}
	switch {
	case end.remains:
		fail(reasonHung, "%s does not end: %s", name, firstOf(end.hung, end.stopped, "it is inside of a call to the kernel that does not come back"))
	case end.hung != "":
		fail(reasonHung, "%s was killed: %s", name, end.hung)
	case end.stopped != "" && end.overdue && r.setup:
		fail(reasonDeadline, "%s was ended since %s", name, end.stopped)
	case end.stopped != "":
		ended.Outcome, ended.Reason, ended.Message = agentapi.Outcome_OUTCOME_STOPPED, reasonStopped, end.stopped
	case r.told.failed != "":
		fail(usual, "%s could not be started: %s", name, r.told.failed)
	case r.told.endedAt == 0:
		fail(reasonKilled, "%s and the process that watched over it were killed (%s); raise the memory of clients.template.resources if that was the cause", name, end.exit)
	case !r.told.exit.Succeeded(r.codes()):
		said := ended.GetToolMessages()
		fail(command.Cause(said, usual), "%s %s%s", name, r.told.exit, lastWords(said))
	case end.unflushed != nil:
		fail(command.Cause(end.unflushed.Error(), "IOError"), "%s ended well, and then %s", name, end.unflushed)
	}
}

// codes returns the exit codes that count as success; nil for a setup, which must exit with 0.
func (r *commandRun) codes() []int32 {
	if r.setup {
		return nil
	}
	return r.tool.GetSuccessExitCodes()
}

// remark adds notices about uncertain figures.
func (r *commandRun) remark(ended *agentapi.Ended, end *commandEnd) {
	warn := func(warning, format string, arguments ...any) {
		ended.Notices = append(ended.Notices, &agentapi.Notice{Warning: warning, Message: fmt.Sprintf(format, arguments...)})
	}
	if r.told.left != "" {
		warn("ToolMessages", "the program ended and left processes running, which were killed: %s", r.told.left)
	}
	if bytes := r.meter.blind(); bytes > 0 {
		warn("BytesUncertain", "%d bytes were moved by processes that nobody waited for, and what else such ones have moved is not known", bytes)
	}
	if end.unread != nil {
		warn("BytesUncertain", "%s", end.unread)
	}
	if end.unflushed != nil && ended.GetOutcome() == agentapi.Outcome_OUTCOME_STOPPED {
		warn("DirtyPages", "%s", end.unflushed)
	}
}

// maxLastWords is the maximum number of bytes of a program's last line in a message.
const maxLastWords = 200

// lastWords returns the last line that a program printed, for a message; empty if it printed nothing.
func lastWords(said string) string {
	said = strings.TrimSpace(said)
	line := strings.TrimSpace(said[strings.LastIndex(said, "\n")+1:])
	if line == "" {
		return ""
	}
	if len(line) > maxLastWords {
		line = strings.ToValidUTF8(line[:maxLastWords], "") + "..."
	}
	return ": " + line
}
