package mpi

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/engine/ior"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/process"
)

const (
	// maxSentRepetitions limits the repetitions in a result, because its record must fit into one message.
	maxSentRepetitions = 1 << 14
	// maxDisagreement is the largest accepted difference between the bytes in our samples and the bytes that IOR reports,
	// as a fraction of IOR's bytes.
	maxDisagreement = 0.05
)

// output reads the output of mpirun as it arrives.
type output struct {
	part  *part
	meter atomic.Pointer[rankMeter]

	mu     sync.Mutex
	ior    ior.Stream
	mdtest ior.MdtestStream
	// others holds the output of mpirun itself and of all ranks of IOR except the first.
	others ior.Stream
	// ends holds the times at which the result rows of the repetitions were read. seen is the total I/O of this
	// client's ranks at the time of the last of these rows.
	ends []int64
	seen process.IO
}

func newOutput(p *part) *output {
	return &output{part: p, ior: ior.Stream{Segments: ior.SegmentsOf(p.load.GetArguments())}}
}

// Write implements io.Writer; it never fails.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.part.load.GetProgram() == "mdtest" {
		return o.mdtest.Write(p)
	}
	now := o.part.step.Clock.Monotonic()
	n, err := o.ior.Write(p)
	if ended := o.ior.Repetitions(); len(ended) > 0 {
		if meter := o.meter.Load(); meter != nil {
			o.seen = meter.look(time.Duration(now))
		}
		for range ended {
			o.ends = append(o.ends, now)
		}
	}
	return n, err
}

// otherRanks receives the standard error of an IOR job; see leaveOutputToFirst.
type otherRanks struct{ output *output }

// Write implements io.Writer; it never fails.
func (r otherRanks) Write(p []byte) (int, error) {
	r.output.mu.Lock()
	defer r.output.mu.Unlock()
	return r.output.others.Write(p)
}

var iorOutcomes = map[ior.Outcome]agentapi.Outcome{
	ior.Complete: agentapi.Outcome_OUTCOME_COMPLETE,
	ior.Stopped:  agentapi.Outcome_OUTCOME_STOPPED,
	ior.CutShort: agentapi.Outcome_OUTCOME_FAILED,
	ior.Failed:   agentapi.Outcome_OUTCOME_FAILED,
}

// judge derives the outcome and the figures from the tool's output.
func (o *output) judge(exit ior.Exit, stderr string, job job) *agentapi.Ended {
	o.mu.Lock()
	defer o.mu.Unlock()
	load := o.part.load
	figures := &agentapi.MpiResult{
		CommandLine: append([]string{load.GetProgram()}, load.GetArguments()...),
		Ranks:       int32(slots(job.hosts)),       //nolint:gosec // The API allows far fewer.
		Clients:     int32(len(load.GetClients())), //nolint:gosec // The API allows far fewer.
		MpiVersion:  job.version.text,
	}
	ended := &agentapi.Ended{ExitCode: int64(exit.Code), ToolMessages: stderr, Mpi: figures}
	var warnings []ior.Warning
	if load.GetProgram() == "mdtest" {
		judged := ior.FinalMdtest(o.mdtest.Close(), exit, stderr, ior.MdtestExpectation{
			Iterations: int(load.GetRepetitions()), Tasks: slots(job.hosts)})
		ended.Outcome, ended.Reason, ended.Message = iorOutcomes[judged.Outcome], string(judged.Failure), judged.Message
		warnings = judged.Warnings
		if judged.Outcome != ior.Failed {
			figures.Rates = mdtestRates(judged.Output.Rates)
		}
	} else {
		expected := ior.Expectation{Repetitions: int(load.GetRepetitions()), Limited: load.GetLimited(),
			Tasks: slots(job.hosts)}
		for _, operation := range load.GetOperations() {
			expected.Operations = append(expected.Operations, measure.Operation(operation))
		}
		parsed := o.ior.Close()
		parsed.AddMessages(o.others.Close())
		judged := ior.Final(parsed, exit, stderr, expected)
		ended.Outcome, ended.Reason, ended.Message = iorOutcomes[judged.Outcome], string(judged.Failure), judged.Message
		warnings = judged.Warnings
		if judged.Outcome != ior.Failed {
			all := judged.Output.Repetitions
			sent := all[:min(len(all), maxSentRepetitions)]
			if len(sent) < len(all) {
				tool.Warn(ended, "ResultIncomplete", "IOR completed %d repetitions, but its figures cover only the first %d: "+
					"raise blockSize or stonewall to make each repetition longer", len(all), len(sent))
			}
			figures.Repetitions = o.repetitions(sent)
			o.compare(ended, all, job)
		}
	}
	for _, warning := range warnings {
		if o.isExpected(warning) {
			continue
		}
		tool.Warn(ended, "ToolMessages", "%s", warning.Message)
	}
	return ended
}

// overwrites is part of IOR's warning about each file that already exists when IOR starts. The warning continues with
// "overwritten", or, after 4.0.0, with "deleted" if IOR removes the file first.
const overwrites = "exists already and will be "

// isExpected reports whether a warning follows from the step's settings, or is reported elsewhere in the result.
func (o *output) isExpected(warning ior.Warning) bool {
	switch warning.Kind { //nolint:exhaustive // All others are reported.
	case ior.WarnVersionUnknown:
		return true
	case ior.WarnStonewalled:
		return o.part.load.GetDurationNanoseconds() > 0
	case ior.WarnToolMessages:
		return strings.Contains(warning.Message, overwrites)
	}
	return false
}

// compare warns if the sum of this client's samples differs from the bytes that its ranks transferred according to IOR.
// The comparison is possible only if all ranks are on one host or do the same amount of work. Ranks that a stonewall
// stops after a given time do different amounts of work.
func (o *output) compare(ended *agentapi.Ended, repetitions []ior.Repetition, job job) {
	load := o.part.load
	if load.GetCollective() && len(job.hosts) > 1 {
		tool.Warn(ended, "BytesUncertain", "some ranks wrote or read data on behalf of all; the samples include the "+
			"data that ranks exchanged over the network, but IOR's own figures do not")
		return
	}
	differ := load.GetDurationNanoseconds() > 0 || ior.Stonewalls(load.GetArguments())
	if len(job.hosts) > 1 && differ || len(repetitions) == 0 {
		return
	}
	var reported [measure.NumOperations]float64
	for _, repetition := range repetitions {
		reported[repetition.Operation] += float64(repetition.Bytes) * float64(job.hosts[0].Slots) / float64(slots(job.hosts))
	}
	if reported[measure.Read] > 0 && ior.ChecksWrites(load.GetArguments()) {
		reported[measure.Read] += reported[measure.Write]
		tool.Warn(ended, "BytesUncertain", "the written data was read back to check it; the samples include those "+
			"reads, but IOR's own figures do not")
	}
	for operation, seen := range map[measure.Operation]uint64{measure.Read: o.seen.ReadBytes, measure.Write: o.seen.WriteBytes} {
		if difference := float64(seen) - reported[operation]; reported[operation] > 0 && max(difference, -difference) > maxDisagreement*reported[operation] {
			tool.Warn(ended, "BytesUncertain", "%v: the system calls of this client's ranks moved %d bytes, but IOR "+
				"reports %.0f",
				operation, seen, reported[operation])
		}
	}
}

func (o *output) repetitions(found []ior.Repetition) []*agentapi.Repetition {
	var all []*agentapi.Repetition
	for i, one := range found {
		sent := &agentapi.Repetition{
			Operation: uint32(one.Operation), Index: int32(one.Index), //nolint:gosec // Of four, and below 2^30.
			Bytes: uint64(max(one.Bytes, 0)), BytesExact: one.BytesExact,
			BytesPerSecond:  float64(one.BytesPerSecond),
			OpenNanoseconds: max(one.OpenNanoseconds, 0), TransferNanoseconds: max(one.TransferNanoseconds, 0),
			CloseNanoseconds: max(one.CloseNanoseconds, 0), TotalNanoseconds: one.TotalNanoseconds,
		}
		if one.OperationsPerSecondMilli > 0 {
			sent.OperationsPerSecond = float64(one.OperationsPerSecondMilli) / 1000
		}
		if i < len(o.ends) {
			sent.EndedNanoseconds = o.ends[i]
		}
		all = append(all, sent)
	}
	return all
}

func mdtestRates(found []ior.MdtestRate) []*agentapi.MdtestRate {
	var all []*agentapi.MdtestRate
	for _, rate := range found {
		all = append(all, &agentapi.MdtestRate{
			Operation:                            rate.Operation,
			MaxOperationsPerSecond:               float64(rate.MaxMilli) / 1000,
			MinOperationsPerSecond:               float64(rate.MinMilli) / 1000,
			MeanOperationsPerSecond:              float64(rate.MeanMilli) / 1000,
			StandardDeviationOperationsPerSecond: float64(rate.StdDevMilli) / 1000,
		})
	}
	return all
}
