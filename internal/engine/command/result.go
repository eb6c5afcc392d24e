package command

import (
	"fmt"
	"slices"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine"
	"github.com/storagebench/storagebench/internal/measure"
)

// The API's limits for a reported command line: the number of words (the program and its arguments), and the number of
// characters per word.
const (
	maxCommandLine = 64
	maxCommandWord = 512
)

// Result implements engine.Engine. It replaces the counts of system calls with the counts of the most trusted source
// that is available on all clients, because counts of different sources cannot be added up.
func (e Engine) Result(_ *engine.Step, report *engine.Report, into *v1alpha1.TargetResult) engine.Findings {
	findings := engine.Findings{Counted: map[int]engine.Count{}}
	made := &v1alpha1.CommandResult{}
	source := commonSource(report)
	totals := map[v1alpha1.CommandSource]*engine.Count{}
	var compared []disagreement
	ran := false
	for i := range report.Clients {
		client := &report.Clients[i]
		program := client.Program
		if program == nil {
			continue
		}
		if !ran {
			for _, word := range program.CommandLine[:min(len(program.CommandLine), maxCommandLine)] {
				made.CommandLine = append(made.CommandLine, v1alpha1.Truncate(word, maxCommandWord))
			}
		}
		if made.ExitCode == 0 {
			made.ExitCode = int32(program.ExitCode) // #nosec G115 -- it has eight bits, and signals are few
		}
		ran = true
		made.DurationNanoseconds = max(made.DurationNanoseconds, int64(program.Duration))
		made.FlushNanoseconds = max(made.FlushNanoseconds, int64(program.Flush))
		made.CutShort = made.CutShort || program.CutShort
		for _, count := range program.Counts {
			addCount(totals, count)
		}
		counts := slices.DeleteFunc(slices.Clone(program.Counts), func(c engine.Count) bool {
			return slices.Index(Order, c.Source) < slices.Index(Order, source)
		})
		if choice, ok := Choose(counts); ok {
			made.Source = source
			findings.Counted[client.Index] = choice.Count
			if client.Usable && choice.Compared {
				compared = append(compared, disagreement{client.Index, choice})
			}
		}
	}
	if !ran {
		return findings
	}
	for _, source := range Order {
		if total := totals[source]; total != nil && summable(report, source) {
			made.Sources = append(made.Sources, countOf(total))
		}
	}
	made.DisagreementPermille = judgeCounts(compared, &findings)
	into.Command = made
	return findings
}

// commonSource returns the most trusted source whose counts can be added up over all clients, or SourceCalls if there
// is none.
func commonSource(report *engine.Report) v1alpha1.CommandSource {
	for _, source := range Order {
		if summable(report, source) {
			return source
		}
	}
	return v1alpha1.SourceCalls
}

// summable reports whether a source's counts can be added up over all clients, which requires that the source is
// available on each of them. The statistics of a mount cover a whole machine. They cannot be used if two clients,
// even of different targets, may run on the same machine, because each of the two counts would include the bytes of
// both clients.
func summable(report *engine.Report, source v1alpha1.CommandSource) bool {
	if source == v1alpha1.SourceMount && (report.SharesMachine || mayShareMachine(report.Clients)) {
		return false
	}
	return !slices.ContainsFunc(report.Clients, func(c engine.ClientReport) bool {
		return c.Program != nil && len(c.Program.Counts) > 0 &&
			!slices.ContainsFunc(c.Program.Counts, func(count engine.Count) bool { return count.Source == source })
	})
}

// mayShareMachine reports whether two clients run on the same machine, or may do so because the machine of a client is
// unknown.
func mayShareMachine(clients []engine.ClientReport) bool {
	machines := map[string]bool{}
	for i := range clients {
		machine := clients[i].Machine
		if len(clients) > 1 && (machine == "" || machines[machine]) {
			return true
		}
		machines[machine] = true
	}
	return false
}

func addCount(totals map[v1alpha1.CommandSource]*engine.Count, count engine.Count) {
	total := totals[count.Source]
	if total == nil {
		totals[count.Source] = &count
		return
	}
	total.ReadBytes, total.WriteBytes = measure.Sum(total.ReadBytes, count.ReadBytes), measure.Sum(total.WriteBytes, count.WriteBytes)
	total.ReadOperations = measure.Sum(total.ReadOperations, count.ReadOperations)
	total.WriteOperations = measure.Sum(total.WriteOperations, count.WriteOperations)
	total.HasOperations = total.HasOperations && count.HasOperations
}

func countOf(total *engine.Count) v1alpha1.CommandCount {
	made := v1alpha1.CommandCount{Source: total.Source, ReadBytes: measure.Clamp(total.ReadBytes), WriteBytes: measure.Clamp(total.WriteBytes)}
	if total.HasOperations {
		made.ReadOperations, made.WriteOperations = new(measure.Clamp(total.ReadOperations)), new(measure.Clamp(total.WriteOperations))
	}
	return made
}

// sourceWords maps each source of counts to the name that messages use for it.
var sourceWords = map[v1alpha1.CommandSource]string{
	v1alpha1.SourceMount: "the statistics of the mount", v1alpha1.SourceControlGroup: "the control group's I/O statistics for the device",
	v1alpha1.SourceStorage: "the kernel's I/O accounting of the program", v1alpha1.SourceCalls: "the program's system calls",
}

// disagreement describes how the counts of one client's sources differ.
type disagreement struct {
	client int
	choice Choice
}

// judgeCounts warns if the counts of a client's sources differ too much. It returns the largest relative difference in
// thousandths, or nil if no client has two sources to compare.
func judgeCounts(compared []disagreement, findings *engine.Findings) *int64 {
	if len(compared) == 0 {
		return nil
	}
	worst := compared[0]
	var apart []int
	for _, one := range compared {
		if one.choice.Share > worst.choice.Share {
			worst = one
		}
		if one.choice.Share > engine.MaxByteDifference {
			apart = append(apart, one.client)
		}
	}
	if len(apart) > 0 {
		choice := worst.choice
		text := fmt.Sprintf("client %d: %s %s according to %s, but %s according to %s%s", worst.client, choice.Direction,
			measure.FormatBytes(choice.Bytes(choice.Direction)), sourceWords[choice.Source],
			measure.FormatBytes(choice.Other.Bytes(choice.Direction)), sourceWords[choice.Other.Source], whyApart(choice))
		if len(apart) > 1 {
			text += fmt.Sprintf(" (the worst of %d clients)", len(apart))
		}
		findings.Warnings = append(findings.Warnings, engine.Warning{Type: v1alpha1.WarningBytesUncertain, Clients: apart, Text: text + "; the result uses the first count"})
	}
	return new(measure.Round(worst.choice.Share * 1000))
}

// whyApart returns the usual cause of the difference between two counts, as a clause for a message. It returns "" if
// the cause is unknown.
func whyApart(choice Choice) string {
	mine, other := choice.Bytes(choice.Direction), choice.Other.Bytes(choice.Direction)
	switch {
	case choice.Other.Source == v1alpha1.SourceCalls && other > mine && choice.Direction == "read":
		return " (reads may be from the page cache, pipes or sockets)"
	case choice.Other.Source == v1alpha1.SourceCalls && other > mine:
		return " (writes may be to pipes or sockets, or to data that was removed or overwritten before it reached the storage)"
	case choice.Other.Source == v1alpha1.SourceCalls:
		return " (the program may use mmap or asynchronous I/O, which system calls do not show, or other programs may use the mount)"
	}
	return ""
}
