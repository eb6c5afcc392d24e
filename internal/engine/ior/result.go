package ior

import (
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/storagebench/storagebench/internal/measure"
)

// Outcome describes how a step ended.
type Outcome string

// Outcomes of a step. None of them is the zero value, so an outcome that was never set does not count as a success.
const (
	// Complete means that the tool did everything that was requested.
	Complete Outcome = "Complete"
	// Stopped means that storagebench stopped the tool. The repetitions that had finished are valid.
	Stopped Outcome = "Stopped"
	// CutShort means that the tool ended too early, for the reason in Failure. The repetitions that had finished are
	// valid.
	CutShort Outcome = "CutShort"
	// Failed means that the step failed for the reason in Failure. There is no result.
	Failed Outcome = "Failed"
)

// Failure is a stable identifier of the reason why a step failed.
type Failure string

// Reasons why a step failed.
const (
	FailureNoSpace    Failure = "NoSpace"
	FailureQuota      Failure = "QuotaExceeded"
	FailureReadOnly   Failure = "ReadOnly"
	FailureNoSuchFile Failure = "NoSuchFile"
	FailurePermission Failure = "PermissionDenied"
	FailureDirect     Failure = "DirectNotSupported"
	FailureIO         Failure = "IOError"
	// FailureBadOption means that the tool does not accept an option or a combination of options.
	FailureBadOption Failure = "BadOption"
	// FailureMPI means that MPI could not start the ranks.
	FailureMPI Failure = "MPI"
	// FailureKilled means that a rank or mpirun was killed from outside, or a client was lost.
	FailureKilled Failure = "Killed"
	// FailureCrashed means that a rank crashed.
	FailureCrashed Failure = "Crashed"
	// FailureDataErrors means that the data read differs from the data written.
	FailureDataErrors Failure = "DataErrors"
	// FailureOperations means that operations failed, and mdtest counted them as done.
	FailureOperations Failure = "OperationsFailed"
	// FailureNoOutput means that the output contains no figure.
	FailureNoOutput Failure = "NoOutput"
	// FailureTruncated means that the output ends before the last repetition.
	FailureTruncated Failure = "Truncated"
	// FailureInvalidOutput means that the output cannot be read, or contradicts itself.
	FailureInvalidOutput Failure = "InvalidOutput"
	// FailureOther is any other failure. Only the message explains it.
	FailureOther Failure = "Other"
)

// Warning describes something that affects how a result must be interpreted.
type Warning struct {
	Kind    WarningKind
	Message string
}

// WarningKind is the stable identifier of a kind of warning.
type WarningKind string

const (
	// WarnToolMessages means that the tool itself printed a warning.
	WarnToolMessages WarningKind = "ToolMessages"
	// WarnStonewalled means that the stonewall ended some repetitions before all their data was transferred.
	WarnStonewalled WarningKind = "Stonewalled"
	// WarnFewerRepetitions means that IOR's own time limit (-T) ended the run before the last repetition.
	WarnFewerRepetitions WarningKind = "FewerRepetitions"
	// WarnEndUnknown means that the output may be incomplete. CSV output has no end mark, so it looks the same if the
	// run was killed between two rows.
	WarnEndUnknown WarningKind = "EndUnknown"
	// WarnVersionUnknown means that the version of IOR is unknown, because CSV output does not contain it.
	WarnVersionUnknown WarningKind = "VersionUnknown"
	// WarnSeveralTests means that the output contains several tests, so its repetitions may differ in kind.
	WarnSeveralTests WarningKind = "SeveralTests"
	// WarnNotMeasured means that an operation has no rate, because mdtest did not perform it.
	WarnNotMeasured WarningKind = "NotMeasured"
	// WarnTimes means that mdtest printed a summary of times (-Z, -P), which is ignored.
	WarnTimes WarningKind = "Times"
)

// Exit describes how the mpirun process ended.
type Exit struct {
	// Code is the exit code. It is meaningful only if Signal is 0.
	Code int
	// Signal is the signal that killed the process, or 0 if none did.
	Signal syscall.Signal
	// Stopped is true if storagebench stopped the process.
	Stopped bool
}

// Expectation contains the requirements for a complete IOR run. The zero value requires nothing.
type Expectation struct {
	// Repetitions is the number of repetitions of each operation in Operations.
	Repetitions int
	Operations  []measure.Operation
	// Limited is true if IOR had a time limit (-T), after which it does not start another repetition. Final then does
	// not check the number of repetitions.
	Limited bool
	// Tasks is the number of ranks.
	Tasks int
}

// Result describes how an IOR step ended and what it measured.
type Result struct {
	Outcome Outcome
	// Failure is set if the outcome is CutShort or Failed. Message then explains the failure and quotes the tool.
	// Message is also set for Stopped.
	Failure Failure
	Message string
	// Output is the parsed output. Its repetitions are valid unless Outcome is Failed.
	Output Output
	// Summary has an entry for each operation, which summarizes its repetitions.
	Summary  []Summary
	Warnings []Warning
}

// Final evaluates an IOR run by its output, its exit status and its standard error. Neither the exit code nor the
// output is sufficient alone: IOR 3.3.0 exits with 0 after an unknown option, the exit code after failed data
// verification is the number of errors modulo 256, and the rows of a killed run look like those of a complete one.
func Final(output Output, exit Exit, stderr string, expected Expectation) Result {
	var said Stream
	_, _ = said.Write([]byte(stderr + "\n"))
	output.Errors = slices.Clone(output.Errors)
	for _, line := range said.Close().Errors {
		output.Errors = appendOnce(output.Errors, line)
	}
	j := judge{output: &output, exit: exit, expected: expected, result: Result{Output: output}}
	j.decide()
	if j.result.Outcome != Failed {
		j.result.Summary = Spreads(output.Repetitions)
		j.warn()
	}
	return j.result
}

type judge struct {
	output   *Output
	exit     Exit
	expected Expectation
	result   Result
}

func (j *judge) decide() {
	if j.output.DataErrors > 0 {
		reason := fmt.Sprintf("%d errors", j.output.DataErrors)
		if at := slices.IndexFunc(j.output.Warnings, func(w string) bool { return strings.HasPrefix(strings.ToLower(w), wrongData) }); at >= 0 {
			reason = j.output.Warnings[at]
		}
		j.end(Failed, FailureDataErrors, reason)
		return
	}
	if j.output.DryRun {
		j.end(Failed, FailureNoOutput, "it was a dry run without I/O, so its figures are meaningless")
		return
	}
	if err := checkSummaries(j.output); err != nil {
		j.end(Failed, FailureInvalidOutput, err.Error())
		return
	}
	failure, reason := j.defect()
	switch finished := len(j.output.Repetitions) > 0; {
	case failure == "" && finished:
		j.result.Outcome = Complete
	case j.exit.Stopped && (failure == "" || stoppable(failure)):
		j.result.Outcome = Stopped
		j.result.Message = "IOR was stopped early; the complete repetitions are used"
		if !finished {
			j.result.Message = "IOR was stopped before the first repetition was complete"
		}
	case finished:
		j.end(CutShort, failure, reason)
	default:
		if failure == "" {
			failure, reason = FailureNoOutput, "no repetition"
		}
		j.end(Failed, failure, reason)
	}
}

// stoppable reports whether stopping the run can cause the failure.
func stoppable(failure Failure) bool {
	switch failure { //nolint:exhaustive // a stop does not cause the other failures
	case FailureTruncated, FailureKilled, FailureNoOutput, FailureOther:
		return true
	}
	return false
}

func (j *judge) end(outcome Outcome, failure Failure, reason string) {
	j.result.Outcome, j.result.Failure = outcome, failure
	j.result.Message = "IOR: " + failureText[failure]
	if reason != "" {
		j.result.Message += " (" + clip(reason) + ")"
	}
}

// defect returns the most significant evidence that a run is not complete, or "" if there is none.
func (j *judge) defect() (Failure, string) {
	output := j.output
	switch {
	case output.Usage:
		return FailureBadOption, first(output.Errors, "it printed its help")
	case output.Format == FormatEmptyCSV:
		return FailureNoOutput, fmt.Sprintf("IOR %s prints no rows with summaryFormat=CSV: use summaryFormat=default, which prints a table", output.Version)
	case len(output.Errors) > 0:
		return classify(output.Errors, j.exit)
	case j.exit.Signal != 0:
		return FailureKilled, fmt.Sprintf("signal %d, %v", int(j.exit.Signal), j.exit.Signal)
	case len(output.Damaged) > 0:
		return FailureInvalidOutput, fmt.Sprintf("line %d: %s", output.Damaged[0].Line, output.Damaged[0].Reason)
	case output.Partial:
		return FailureTruncated, "its output ends in the middle of a line or object"
	case output.Format == "" && len(output.Repetitions) == 0:
		return FailureNoOutput, firstLine(output.Noise)
	case j.exit.Code != 0:
		return FailureOther, fmt.Sprintf("exit code %d", j.exit.Code)
	case output.Format != FormatCSV && !output.Finished:
		return FailureTruncated, "the last line of its output is missing"
	}
	if missing := j.missing(); missing != "" {
		return FailureTruncated, missing
	}
	return "", ""
}

// missing describes missing repetitions or ranks, or returns "" if there are none.
func (j *judge) missing() string {
	output, counts := j.output, map[measure.Operation]int{}
	for _, repetition := range output.Repetitions {
		if repetition.Test == output.Tests-1 {
			counts[repetition.Operation]++
		}
		if j.expected.Tasks > 0 && repetition.Tasks > 0 && repetition.Tasks != j.expected.Tasks {
			return fmt.Sprintf("only %d of %d ranks took part", repetition.Tasks, j.expected.Tasks)
		}
	}
	for _, operation := range j.expected.Operations {
		if got := counts[operation]; got < j.expected.Repetitions && !j.ownTimeLimit() {
			return fmt.Sprintf("only %d of %d repetitions of %v completed", got, j.expected.Repetitions, operation)
		}
	}
	if j.ownTimeLimit() {
		return ""
	}
	writes, reads := counts[measure.Write], counts[measure.Read]
	if writes > 0 && reads > 0 && writes != reads {
		return fmt.Sprintf("%d repetitions of Write completed, but %d of Read", writes, reads)
	}
	if declared := output.DeclaredRepetitions; max(writes, reads) < declared {
		return fmt.Sprintf("only %d of %d repetitions completed", max(writes, reads), declared)
	}
	return ""
}

// ownTimeLimit reports whether IOR itself limited the time of the run (-T). Such a run ends normally between two
// repetitions.
func (j *judge) ownTimeLimit() bool {
	return j.expected.Limited || j.output.limited
}

func (j *judge) warn() {
	output := j.output
	add := func(kind WarningKind, format string, arguments ...any) {
		j.result.Warnings = append(j.result.Warnings, Warning{Kind: kind, Message: fmt.Sprintf(format, arguments...)})
	}
	if output.StonewallHit > 0 {
		add(WarnStonewalled, "the stonewall ended %d repetitions before their work was done", output.StonewallHit)
	}
	if declared := output.DeclaredRepetitions; j.result.Outcome == Complete && declared > 0 && output.Tests == 1 {
		for _, summary := range j.result.Summary {
			if summary.Repetitions < declared {
				add(WarnFewerRepetitions, "only %d of %d repetitions of %v completed: the time limit of -T was reached", summary.Repetitions, declared, summary.Operation)
			}
		}
	}
	if output.Tests > 1 {
		add(WarnSeveralTests, "the output has %d tests, but only one summary for all of them", output.Tests)
	}
	if output.Format == FormatCSV && j.expected.Repetitions == 0 && !j.expected.Limited && j.result.Outcome == Complete {
		add(WarnEndUnknown, "the CSV does not show the requested number of repetitions: a run killed between two repetitions looks the same")
	}
	if output.Version == "" {
		add(WarnVersionUnknown, "the CSV does not contain the version of IOR or the data pattern")
	}
	for _, text := range output.Warnings {
		add(WarnToolMessages, "%s", text)
	}
	if output.MoreWarnings > 0 {
		add(WarnToolMessages, "%d more warnings from IOR", output.MoreWarnings)
	}
}

func first(texts []string, otherwise string) string {
	if len(texts) == 0 {
		return otherwise
	}
	return texts[0]
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
