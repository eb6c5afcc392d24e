package result

import (
	"fmt"
	"slices"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine/command"
	"github.com/storagebench/storagebench/internal/measure"
)

// Command is how a program of the user's ran on one client.
type Command struct {
	// CommandLine that ran: program and arguments.
	CommandLine []string
	// ExitCode is 128 and the signal where it was killed.
	ExitCode int
	// Duration is from its start to its end, Flush from there until all was on the storage.
	Duration, Flush time.Duration
	// CutShort: it was ended, and did not end by itself.
	CutShort bool
	// Counts of all sources, those first that are believed first.
	Counts []command.Count
}

// Bounds of the API.
const (
	maxCommandLine = 64
	maxCommandWord = 512
)

// program is what is known of the programs of all clients.
type program struct {
	// source is that which is believed for all clients; worst is how far another one is from it, by client.
	choices map[int]command.Choice
	source  v1alpha1.CommandSource
}

// chooseCounts puts the count that is believed in the place of that by system calls. One source is believed for
// all clients: what two sources see cannot be added up.
func (b *builder) chooseCounts(client *Client) {
	if client.Command == nil || len(client.Command.Counts) == 0 {
		return
	}
	if b.program == nil {
		b.program = &program{choices: map[int]command.Choice{}, source: b.commonSource()}
	}
	counts := slices.DeleteFunc(slices.Clone(client.Command.Counts), func(c command.Count) bool {
		return slices.Index(sourceOrder, c.Source) < slices.Index(sourceOrder, b.program.source)
	})
	choice, ok := command.Choose(counts, false)
	if !ok {
		return
	}
	b.program.choices[client.Index] = choice
	calls := [measure.NumOperations]uint64{}
	for operation := range client.Operations {
		calls[operation] = client.Operations[operation].Operations
	}
	client.Operations = [measure.NumOperations]Operation{}
	read, write := measure.Counter{Bytes: choice.ReadBytes}, measure.Counter{Bytes: choice.WriteBytes}
	if choice.HasOperations {
		read.Operations, write.Operations = choice.ReadOperations, choice.WriteOperations
	} else {
		// A source of bytes alone: the system calls are the operations that the program asked for.
		read.Operations, write.Operations = calls[measure.Read], calls[measure.Write]
	}
	client.Operations[measure.Read].Counter, client.Operations[measure.Write].Counter = read, write
}

// sourceOrder is that in which they are believed.
var sourceOrder = []v1alpha1.CommandSource{v1alpha1.SourceMount, v1alpha1.SourceControlGroup, v1alpha1.SourceStorage, v1alpha1.SourceCalls}

// commonSource is the best one that all clients have. The statistics of a mount are those of a machine: with two clients
// on one of them both would count the bytes of both.
func (b *builder) commonSource() v1alpha1.CommandSource {
	for _, source := range sourceOrder {
		if source == v1alpha1.SourceMount && b.clientsMayShareMachine() {
			continue
		}
		all := !slices.ContainsFunc(b.clients, func(c Client) bool {
			return c.Command != nil && len(c.Command.Counts) > 0 &&
				!slices.ContainsFunc(c.Command.Counts, func(count command.Count) bool { return count.Source == source })
		})
		if all {
			return source
		}
	}
	return v1alpha1.SourceCalls
}

// clientsMayShareMachine reports whether two clients run on one machine, or may.
func (b *builder) clientsMayShareMachine() bool {
	machines := map[string]bool{}
	for i := range b.clients {
		machine := b.clients[i].Machine
		if len(b.clients) > 1 && (machine == "" || machines[machine]) {
			return true
		}
		machines[machine] = true
	}
	return false
}

// command adds how the programs ran.
func (b *builder) command(engine *v1alpha1.Engine) {
	if engine == nil || engine.Command == nil || !slices.ContainsFunc(b.clients, func(c Client) bool { return c.Command != nil }) {
		return
	}
	if b.program == nil {
		b.program = &program{} // no client has figures, and one has an exit code
	}
	made := &v1alpha1.CommandResult{Source: b.program.source}
	totals := map[v1alpha1.CommandSource]*command.Count{}
	first := true
	for i := range b.clients {
		ran := b.clients[i].Command
		if ran == nil {
			continue
		}
		if first {
			for _, word := range ran.CommandLine[:min(len(ran.CommandLine), maxCommandLine)] {
				made.CommandLine = append(made.CommandLine, v1alpha1.Truncate(word, maxCommandWord))
			}
			made.ExitCode = int32(ran.ExitCode) //nolint:gosec // It has eight bits, and signals are few.
		} else if one := int32(ran.ExitCode); made.ExitCode == int32(b.clients[0].exitCode()) { //nolint:gosec // As above.
			made.ExitCode = one
		}
		first = false
		made.DurationNanoseconds = max(made.DurationNanoseconds, int64(ran.Duration))
		made.FlushNanoseconds = max(made.FlushNanoseconds, int64(ran.Flush))
		made.CutShort = made.CutShort || ran.CutShort
		for _, count := range ran.Counts {
			addCount(totals, count)
		}
	}
	for _, source := range sourceOrder {
		if total := totals[source]; total != nil {
			made.Sources = append(made.Sources, countOf(total))
		}
	}
	b.judgeCounts(made)
	b.result.Command = made
}

// exitCode is 0 where no program ran.
func (c *Client) exitCode() int {
	if c.Command == nil {
		return 0
	}
	return c.Command.ExitCode
}

func addCount(totals map[v1alpha1.CommandSource]*command.Count, count command.Count) {
	total := totals[count.Source]
	if total == nil {
		totals[count.Source] = &count
		return
	}
	total.ReadBytes, total.WriteBytes = sum(total.ReadBytes, count.ReadBytes), sum(total.WriteBytes, count.WriteBytes)
	total.ReadOperations = sum(total.ReadOperations, count.ReadOperations)
	total.WriteOperations = sum(total.WriteOperations, count.WriteOperations)
	total.HasOperations = total.HasOperations && count.HasOperations
}

func countOf(total *command.Count) v1alpha1.CommandCount {
	made := v1alpha1.CommandCount{Source: total.Source, ReadBytes: clamp(total.ReadBytes), WriteBytes: clamp(total.WriteBytes)}
	if total.HasOperations {
		reads, writes := clamp(total.ReadOperations), clamp(total.WriteOperations)
		made.ReadOperations, made.WriteOperations = &reads, &writes
	}
	return made
}

// sourceWords are what sources are in a message.
var sourceWords = map[v1alpha1.CommandSource]string{
	v1alpha1.SourceMount: "the statistics of the mount", v1alpha1.SourceControlGroup: "the control group's counts of the device",
	v1alpha1.SourceStorage: "what the kernel fetched and dirtied for the program", v1alpha1.SourceCalls: "the program's system calls",
}

// judgeCounts warns where two sources that should count the same do not.
func (b *builder) judgeCounts(made *v1alpha1.CommandResult) {
	var apart worst
	var message string
	compared := false
	var most float64
	for i := range b.usable {
		choice, known := b.program.choices[b.usable[i].Index]
		if !known || !choice.Compared {
			continue
		}
		compared = true
		most = max(most, choice.Share)
		if choice.Share <= maxByteDifference {
			continue
		}
		apart.add(b.usable[i].Index, choice.Share)
		if apart.client == b.usable[i].Index {
			message = fmt.Sprintf("by %s client %d has %s %s, by %s %s", sourceWords[choice.Source], apart.client, choice.Direction,
				measure.FormatBytes(choice.Bytes(choice.Direction)), sourceWords[choice.Other.Source], measure.FormatBytes(choice.Other.Bytes(choice.Direction)))
			message += whyApart(choice)
		}
	}
	if compared {
		disagreement := permille(most)
		made.DisagreementPermille = &disagreement
	}
	if len(apart.clients) > 0 {
		b.warnings.add(v1alpha1.WarningBytesUncertain, apart.clients, "%s%s; the figures are by the first", message, apart.others())
	}
}

// whyApart names the usual cause.
func whyApart(choice command.Choice) string {
	mine, other := choice.Bytes(choice.Direction), choice.Other.Bytes(choice.Direction)
	switch {
	case choice.Other.Source == v1alpha1.SourceCalls && other > mine && choice.Direction == "read":
		return " (it read from memory that caches files, or from pipes and sockets)"
	case choice.Other.Source == v1alpha1.SourceCalls && other > mine:
		return " (it wrote to pipes and sockets, or what it wrote was removed or overwritten before it went to the storage)"
	case choice.Other.Source == v1alpha1.SourceCalls:
		return " (it maps files to memory, or uses asynchronous I/O, which system calls do not show; or others use the mount)"
	}
	return ""
}
