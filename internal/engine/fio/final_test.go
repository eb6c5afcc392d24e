package fio

import (
	"bytes"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/test/golden"
)

func judged(run recording) Result {
	output, _ := ReadOutput(bytes.NewReader(run.stdout))
	return Final(output, run.exit, run.stderr, Expectation{})
}

// TestFinalGolden checks the outcomes of all recorded runs against a golden file, which shows any change as a diff.
func TestFinalGolden(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for _, run := range recordings(t) {
		result := judged(run)
		fmt.Fprintf(&text, "%s: exit %d, signal %d -> %v %s\n", run.name, run.exit.Code, run.exit.Signal, result.Outcome, result.Failure)
		if result.Message != "" {
			fmt.Fprintf(&text, "  %s\n", result.Message)
		}
		for _, warning := range result.Warnings {
			fmt.Fprintf(&text, "  warning %s: %s\n", warning.Kind, warning.Message)
		}
		if result.Snapshot == nil || result.Outcome == Failed {
			continue
		}
		for i := range result.Snapshot.Operations {
			if total := &result.Snapshot.Operations[i]; total.Operations > 0 {
				summary := total.Total.Summary()
				fmt.Fprintf(&text, "  %v: %d bytes, %d operations (%d issued), %d ms, mean %d ns, max %d ns\n", measure.Operation(i),
					total.Bytes, total.Completed(), total.Operations, total.RuntimeMilliseconds, summary.MeanNanoseconds, summary.MaxNanoseconds)
			}
		}
	}
	golden.Check(t, "final", text.String())
}

// TestFinalOutcomes checks the outcome of each recorded run against a list written by hand, because the golden file can
// be updated without looking at it.
func TestFinalOutcomes(t *testing.T) {
	t.Parallel()
	wanted := map[string]string{
		"all-256-fail": "NoSuchFile", "all-256-fail-errno": "ReadOnly", "bad-engine": "BadEngine", "bad-option": "BadOption",
		"bad-value": "BadOption", "child-killed": "Killed", "client-server": "Complete", "direct-unaligned": "DirectNotSupported",
		"eisdir": "IsADirectory", "enoent": "NoSuchFile", "enospc": "NoSpace", "enospc-continue": "NoSpace", "enospc-in-the-last-write": "Complete", "enotdir": "NotADirectory",
		"erofs": "ReadOnly", "late-dump": "Complete", "late-reset-one": "Complete", "late-reset-three": "Complete",
		"mixed-four-jobs": "Complete", "no-job": "BadOption", "no-lat-bins": "Complete", "ramp": "Complete", "ramp-queue": "Complete", "ramp-deep-queue": "Complete",
		"sighup": "Killed", "sigint": "Stopped", "sigint-before-io": "Stopped", "sigkill": "Killed", "sigterm": "Stopped",
		"sync-writes": "Complete", "trim": "Complete", "truncated": "Killed", "two-groups": "Complete", "unified": "InvalidOutput",
		"verify-null": "Complete", "write": "Complete",
	}
	all := recordings(t)
	if len(all) != len(wanted) {
		t.Errorf("%d recorded runs, %d are known", len(all), len(wanted))
	}
	for _, run := range all {
		result := judged(run)
		got := string(result.Outcome)
		if result.Outcome == Failed {
			got = string(result.Failure)
			if len(result.Message) < 20 {
				t.Errorf("%s: message %q", run.name, result.Message)
			}
		}
		if got != wanted[run.name] {
			t.Errorf("%s: %s, want %s (%s)", run.name, got, wanted[run.name], result.Message)
		}
	}
}

func TestFinalNeedsTheLastDocument(t *testing.T) {
	t.Parallel()
	run := readRecording(t, "mixed-four-jobs")
	whole := string(run.stdout)
	last := strings.LastIndex(whole, "\n{\n") + 1
	for _, test := range []struct {
		name, output string
		want         Failure
	}{
		{"cut off in it", whole[:last+500], FailureTruncated},
		{"text in its place", whole[:last] + "something else\n", FailureInvalidOutput},
		{"another object in its place", whole[:last] + "{\"a\" : 1}\n", FailureInvalidOutput},
		{"text inside", whole[:last+500] + "\nfio: terminating on signal 2\n" + whole[last+500:], FailureInvalidOutput},
		{"a byte lost", whole[:last+1000] + whole[last+1001:], FailureInvalidOutput},
		{"text after it", whole + "something else\n", FailureInvalidOutput},
		{"empty", "", FailureNoOutput},
		{"only text", "all is well\n", FailureNoOutput},
		{"only another object", "{}\n", FailureNoOutput},
		{"only a list", "[1, 2, 3]\n", FailureNoOutput},
	} {
		output, _ := ReadOutput(strings.NewReader(test.output))
		result := Final(output, Exit{}, "", Expectation{})
		if result.Outcome != Failed || result.Failure != test.want {
			t.Errorf("%s: %v %v: %s", test.name, result.Outcome, result.Failure, result.Message)
		}
	}
}

func TestFinalWithExpectations(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		run      string
		exit     *Exit
		expected Expectation
		outcome  Outcome
		failure  Failure
		warning  WarningKind
	}{
		{"whole time", "mixed-four-jobs", nil, Expectation{MeasuredMilliseconds: 2000, Jobs: 4, MaxOutstanding: 16}, Complete, "", ""},
		{"shorter than asked", "mixed-four-jobs", nil, Expectation{MeasuredMilliseconds: 3000}, Failed, FailureTruncated, ""},
		{"a job less", "mixed-four-jobs", nil, Expectation{MeasuredMilliseconds: 2000, Jobs: 5}, Failed, FailureTruncated, ""},
		{"all written", "write", nil, Expectation{WrittenBytes: 4 << 20}, Complete, "", ""},
		{"not all written", "write", nil, Expectation{WrittenBytes: 4<<20 + 1}, Failed, FailureTruncated, ""},
		{"a full volume without an error", "enospc-in-the-last-write", nil, Expectation{WrittenBytes: 8448 << 10}, Failed, FailureNoSpace, ""},
		{"stopped is shorter", "sigint", nil, Expectation{MeasuredMilliseconds: 60_000}, Stopped, "", ""},
		{"reset in a late dump", "late-reset-three", nil, Expectation{MeasuredMilliseconds: 4000, WarmUpMilliseconds: 3000, Jobs: 3}, Complete, "", ""},
		{"crashed after its result", "write", &Exit{Signal: syscall.SIGSEGV}, Expectation{}, Failed, FailureCrashed, ""},
		{"result but exit 1", "write", &Exit{Code: 1}, Expectation{}, Failed, FailureOther, ""},
		{"errors of continued jobs", "enospc-continue", &Exit{}, Expectation{}, Complete, "", WarnToolErrors},
		{"deep queue at the ramp's end", "ramp-deep-queue", nil, Expectation{MeasuredMilliseconds: 3000, MaxOutstanding: 32}, Complete, "", ""},
		{"queue at the ramp's end", "ramp-queue", nil, Expectation{MeasuredMilliseconds: 2000, MaxOutstanding: 16}, Complete, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			run := readRecording(t, test.run)
			if test.exit != nil {
				run.exit = *test.exit
			}
			stderr := run.stderr
			if test.warning == WarnToolErrors {
				stderr = ""
			}
			output, _ := ReadOutput(bytes.NewReader(run.stdout))
			result := Final(output, run.exit, stderr, test.expected)
			if result.Outcome != test.outcome || result.Failure != test.failure {
				t.Errorf("%v %v: %s", result.Outcome, result.Failure, result.Message)
			}
			found := test.warning == ""
			for _, warning := range result.Warnings {
				found = found || warning.Kind == test.warning
			}
			if !found {
				t.Errorf("warnings %v, want %s", result.Warnings, test.warning)
			}
		})
	}
}

// TestFinalOfAStopInTheRamp checks that a run stopped during its ramp has measured nothing, although fio prints the
// figures of the ramp.
func TestFinalOfAStopInTheRamp(t *testing.T) {
	t.Parallel()
	output, _ := ReadOutput(bytes.NewReader(readRecording(t, "ramp").stdout))
	var stream Stream
	_, _ = stream.Write(readRecording(t, "ramp").stdout)
	first := stream.Documents()[0]
	output.Last = first
	result := Final(output, Exit{Code: stoppedCode}, "", Expectation{MeasuredMilliseconds: 2000, WarmUpMilliseconds: 2000})
	if result.Outcome != Stopped || result.Snapshot.hasOperations() || !strings.Contains(result.Message, "nothing was measured") {
		t.Errorf("%v %s %+v", result.Outcome, result.Message, result.Snapshot.Operations[0].Counter)
	}
	result = Final(output, Exit{}, "", Expectation{MeasuredMilliseconds: 100})
	if result.Failure != FailureTruncated {
		t.Errorf("ended in the ramp: %v %s", result.Outcome, result.Message)
	}
}

// TestFinalOfTheOnlyDocument checks that a result is found between other text, as in the output of
// --output-format=json,normal.
func TestFinalOfTheOnlyDocument(t *testing.T) {
	t.Parallel()
	run := readRecording(t, "write")
	output, _ := ReadOutput(strings.NewReader("noise {\n" + string(run.stdout) + "\njob: (groupid=0, jobs=1): err= 0: pid=3\n  write: IOPS=1\n"))
	result := Final(output, Exit{}, "", Expectation{})
	if result.Outcome != Complete || result.Snapshot.Operations[measure.Write].Bytes != 4<<20 {
		t.Errorf("%v %s", result.Outcome, result.Message)
	}
	if len(result.Warnings) != 1 || result.Warnings[0].Kind != WarnToolMessages {
		t.Errorf("warnings %v", result.Warnings)
	}
}
