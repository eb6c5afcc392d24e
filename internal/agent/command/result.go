package command

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/engine/command"
)

// result assembles the Ended record of the run.
func (r *run) result(end *runEnd) *agentapi.Ended {
	ended := &agentapi.Ended{
		Outcome: agentapi.Outcome_OUTCOME_COMPLETE, ExitCode: int64(r.reports.exit.ExitCode()), ToolMessages: r.output.String(),
		IoStartNanoseconds: end.start, IoEndNanoseconds: end.flushed, Cpu: r.cpu.End(r.step.Clock, end.exit),
	}
	r.judge(ended, end)
	if end.remains {
		return ended // the counters are not final while the process still runs
	}
	ended.Command = &agentapi.CommandResult{
		CommandLine: r.words, ExitCode: int32(r.reports.exit.ExitCode()), //nolint:gosec // Exit codes have eight bits.
		DurationNanoseconds: end.endedAt - end.start, FlushNanoseconds: max(0, end.flushed-end.endedAt),
		CutShort: end.stopped != "" || end.hung != "",
		Sources:  r.sources.end(end.done),
	}
	operations, err := tool.OperationResults(tool.OperationCounts(end.done))
	if err != nil {
		tool.Fail(ended, tool.ReasonInvalid, "%s", err)
		return ended
	}
	ended.Operations = operations
	r.remark(ended, end)
	return ended
}

// judge sets the program's outcome, reason and message.
func (r *run) judge(ended *agentapi.Ended, end *runEnd) {
	fail := func(reason, format string, arguments ...any) {
		tool.Fail(ended, reason, format, arguments...)
	}
	usual, name := reasonCommand, filepath.Base(r.words[0])
	if r.setup {
		usual, name = reasonSetup, "the setup, "+name+","
	}
	switch {
	case end.remains:
		fail(tool.ReasonHung, "%s does not exit: %s",
			name, cmp.Or(end.hung, end.stopped, "a system call does not return"))
	case end.hung != "":
		fail(tool.ReasonHung, "%s was killed: %s", name, end.hung)
	case end.stopped != "" && end.overdue && r.setup:
		fail(tool.ReasonDeadline, "%s was stopped because %s", name, end.stopped)
	case end.stopped != "":
		ended.Outcome, ended.Reason, ended.Message = agentapi.Outcome_OUTCOME_STOPPED, tool.ReasonStopped, end.stopped
	case r.reports.failed != "":
		fail(usual, "%s could not be started: %s", name, r.reports.failed)
	case r.reports.endedAt == 0:
		fail(tool.ReasonKilled, "%s and the process that supervises it were killed (%s); if they ran out of memory, "+
			"raise the memory limit in clients.template.resources", name, end.exit)
	case !r.reports.exit.Succeeded(r.codes()):
		output := ended.GetToolMessages()
		fail(command.Cause(output, usual), "%s %s%s", name, r.reports.exit, lastLine(output))
	case end.unflushed != nil:
		fail(command.Cause(end.unflushed.Error(), "IOError"), "%s succeeded, but its data may not have reached the storage: %s", name, end.unflushed)
	}
}

// codes returns the exit codes that count as success. It returns nil for a setup command, which must exit with 0.
func (r *run) codes() []int32 {
	if r.setup {
		return nil
	}
	return r.load.GetSuccessExitCodes()
}

// remark adds notices about uncertain figures and leftover processes to the result.
func (r *run) remark(ended *agentapi.Ended, end *runEnd) {
	warn := func(warning, format string, arguments ...any) {
		tool.Warn(ended, warning, format, arguments...)
	}
	if r.reports.left != "" {
		warn("ToolMessages", "the program left processes running, which were killed: %s", r.reports.left)
	}
	if bytes := r.meter.blind(); bytes > 0 {
		warn("BytesUncertain", "at least %d bytes were read or written by processes that no parent waited for; their "+
			"complete I/O is unknown", bytes)
	}
	if end.unread != nil {
		warn("BytesUncertain", "%s", end.unread)
	}
	if end.unflushed != nil && ended.GetOutcome() == agentapi.Outcome_OUTCOME_STOPPED {
		warn("DirtyPages", "%s", end.unflushed)
	}
}

// maxLastLine is the maximum number of bytes of a program's last line in a message.
const maxLastLine = 200

// lastLine returns the last line that a program printed, formatted for a message, or "" if it printed nothing.
func lastLine(output string) string {
	output = strings.TrimSpace(output)
	line := strings.TrimSpace(output[strings.LastIndex(output, "\n")+1:])
	if line == "" {
		return ""
	}
	if len(line) > maxLastLine {
		line = strings.ToValidUTF8(line[:maxLastLine], "") + "..."
	}
	return ": " + line
}
