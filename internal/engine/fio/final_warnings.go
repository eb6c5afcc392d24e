package fio

import (
	"fmt"
	"strings"

	"github.com/storagebench/storagebench/internal/engine"
	"github.com/storagebench/storagebench/internal/measure"
)

func (j *judge) add(kind WarningKind, message string) {
	j.result.Warnings = append(j.result.Warnings, Warning{Kind: kind, Message: message})
}

// warn adds the warnings about a run whose result is valid.
func (j *judge) warn() {
	for _, failed := range j.result.Snapshot.Errors {
		j.add(WarnToolErrors, failed.String())
	}
	for _, damage := range j.output.Damaged {
		j.add(WarnDamagedOutput, "an unreadable part of fio's output was skipped "+damage.String())
	}
	for i := range j.result.Snapshot.Operations {
		j.warnOf(measure.Operation(i), &j.result.Snapshot.Operations[i])
	}
	if message := unknownMessages(j.stderrText); message != "" {
		j.add(WarnToolMessages, message)
	}
}

func (j *judge) warnOf(operation measure.Operation, total *OperationTotal) {
	if !total.HasBins() {
		j.add(WarnNoBins, fmt.Sprintf("%v: no latency percentiles, because fio printed no histogram of lat: "+
			"use --output-format=json+ and lat_percentiles=1", operation))
	}
	if total.ShortOperations > 0 {
		j.add(WarnShortOperations, fmt.Sprintf("%v: %d short operations (fewer bytes than requested)", operation, total.ShortOperations))
	}
	if total.Operations > 0 && total.Total.Count == 0 && total.Bytes == 0 {
		j.add(WarnCountsDisagree, fmt.Sprintf("%v: fio issued %d operations, but none completed", operation, total.Operations))
	}
	apart := max(total.Operations, total.Total.Count) - min(total.Operations, total.Total.Count)
	if j.expected.MaxOutstanding > 0 && apart > j.expected.MaxOutstanding+j.expected.MaxOutstanding/10 {
		j.add(WarnCountsDisagree, fmt.Sprintf("%v: fio issued %d operations, but measured the latency of %d, with at most %d outstanding",
			operation, total.Operations, total.Total.Count, j.expected.MaxOutstanding))
	}
}

// expectedMessages lists the prefixes of the lines that fio normally prints when it is stopped early.
var expectedMessages = []string{"fio: terminating on signal ", "fio: terminating on timeout"}

// unknownMessages returns up to three unexpected lines, and says how many more there are.
func unknownMessages(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		expected := line == ""
		for _, prefix := range expectedMessages {
			expected = expected || strings.HasPrefix(line, prefix)
		}
		if !expected {
			lines = append(lines, clip(line))
		}
	}
	if len(lines) > 3 {
		lines = append(lines[:3], fmt.Sprintf("and %d more lines", len(lines)-3))
	}
	return strings.Join(lines, "; ")
}

// firstComplaint returns fio's first message, clipped to 300 bytes. It skips the message with which fio responds to a
// signal.
func firstComplaint(text string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "fio: ") && !strings.HasPrefix(line, expectedMessages[0]) {
			return clipTo(300, strings.TrimPrefix(line, "fio: "))
		}
	}
	return ""
}

func joinReasons(reasons ...string) string {
	var kept []string
	for _, reason := range reasons {
		if reason != "" {
			kept = append(kept, reason)
		}
	}
	return strings.Join(kept, "; ")
}

func joinLines(texts ...string) string {
	var kept []string
	for _, text := range texts {
		if text = strings.TrimSpace(text); text != "" {
			kept = append(kept, text)
		}
	}
	return strings.Join(kept, "\n")
}

func clipLines(text string) string {
	var clipped engine.ClippedText
	clipped.Add([]byte(text))
	return clipped.String()
}
