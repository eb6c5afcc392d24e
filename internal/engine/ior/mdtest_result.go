package ior

import (
	"fmt"
	"slices"
	"strings"
)

// MdtestExpectation contains the requirements for a complete mdtest run. The zero value requires nothing.
type MdtestExpectation struct {
	Iterations, Tasks int
}

// MdtestResult describes how an mdtest step ended. Its outcome is never CutShort, because mdtest prints its figures
// once, at the end.
type MdtestResult struct {
	Outcome Outcome
	// Failure is set if the outcome is Failed; Message then explains the failure and quotes mdtest. Message is also set
	// for Stopped.
	Failure Failure
	Message string
	// Output is the parsed output. Its rates are valid only if the outcome is Complete. A stopped run has no rates.
	Output   MdtestOutput
	Warnings []Warning
}

// FinalMdtest evaluates an mdtest run by its output, its exit status and its standard error. The exit code and the
// summary are not sufficient, because mdtest counts failed operations as completed and only prints a warning.
func FinalMdtest(output MdtestOutput, exit Exit, stderr string, expected MdtestExpectation) MdtestResult {
	var said MdtestStream
	_, _ = said.Write([]byte(stderr + "\n"))
	output.Errors = append(slices.Clone(output.Errors), said.Close().Errors...)
	result := MdtestResult{Output: output}
	failure, reason := mdtestDefect(&output, exit, expected)
	switch {
	case failure == "":
		result.Outcome = Complete
	case exit.Stopped && failure != FailureOperations && failure != FailureInvalidOutput && failure != FailureBadOption:
		result.Outcome, result.Message = Stopped, "mdtest was stopped before it printed its summary"
		result.Output.Rates = nil
	default:
		result.Outcome, result.Failure = Failed, failure
		result.Message = "mdtest: " + failureText[failure]
		if reason != "" {
			result.Message += " (" + clip(reason) + ")"
		}
		return result
	}
	result.warn()
	return result
}

func mdtestDefect(output *MdtestOutput, exit Exit, expected MdtestExpectation) (Failure, string) {
	switch {
	case output.Usage:
		return FailureBadOption, first(output.Errors, "it printed its help")
	case len(output.Errors) > 0:
		return classify(output.Errors, exit)
	case output.FailedOperations > 0:
		return FailureOperations, fmt.Sprintf("%d operations; the first: %s", output.FailedOperations, output.FirstFailed)
	case exit.Signal != 0:
		return FailureKilled, fmt.Sprintf("signal %d, %v", int(exit.Signal), exit.Signal)
	case len(output.Damaged) > 0:
		return FailureInvalidOutput, fmt.Sprintf("line %d: %s", output.Damaged[0].Line, output.Damaged[0].Reason)
	case exit.Code != 0:
		return FailureOther, fmt.Sprintf("exit code %d", exit.Code)
	case len(output.Rates) == 0 && output.Times:
		return FailureNoOutput, "it printed times instead of rates, because of -Z"
	case output.Partial || !output.Finished && (output.Version != "" || len(output.Rates) > 0):
		return FailureTruncated, "the last line of its output is missing"
	case len(output.Rates) == 0:
		return FailureNoOutput, ""
	case expected.Iterations > 0 && output.Iterations != expected.Iterations:
		return FailureTruncated, fmt.Sprintf("%d of %d iterations", output.Iterations, expected.Iterations)
	case expected.Tasks > 0 && output.Tasks != expected.Tasks:
		return FailureTruncated, fmt.Sprintf("only %d of %d ranks took part", output.Tasks, expected.Tasks)
	}
	return "", ""
}

func (r *MdtestResult) warn() {
	add := func(kind WarningKind, format string, arguments ...any) {
		r.Warnings = append(r.Warnings, Warning{Kind: kind, Message: fmt.Sprintf(format, arguments...)})
	}
	if r.Output.Times && len(r.Output.Rates) > 0 {
		add(WarnTimes, "the summary of times is ignored")
	}
	if len(r.Output.NotMeasured) > 0 {
		add(WarnNotMeasured, "no rate for: %s", strings.Join(r.Output.NotMeasured, ", "))
	}
	for _, text := range r.Output.Warnings {
		add(WarnToolMessages, "%s", text)
	}
	if r.Output.MoreWarnings > 0 {
		add(WarnToolMessages, "%d more warnings from mdtest", r.Output.MoreWarnings)
	}
}
