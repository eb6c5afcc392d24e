package ior

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine"
	"github.com/storagebench/storagebench/internal/measure"
)

// Limits set by the API. maxListedRepetitions is the maximum number of repetitions that are listed per operation.
// maxRates is the maximum number of mdtest rates.
const (
	maxListedRepetitions = 32
	maxRates             = 32
)

// ratios holds the lz4 -1 compression ratios of files that IOR wrote with transfers of 1 MiB, in thousandths, by
// version and data pattern. They were measured with IOR 3.3.0 and 4.0.0. IOR 3.3.0 does not support the pattern Random
// and uses its default pattern instead. In 4.0.0, the Incompressible pattern restarts its random number generator for
// each word, so all words are equal.
var ratios = map[string]map[string]int64{
	"3.3": {"Timestamp": 3990, "Offset": 3990, "Incompressible": 990, "Random": 3990},
	"4":   {"Timestamp": 1990, "Offset": 1990, "Incompressible": 202_000, "Random": 990},
}

func (e Engine) patternOf(version string) engine.Pattern {
	name := cmp.Or(e.Profile.DataPattern, "Timestamp")
	made := engine.Pattern{Version: version, Name: name, Remedy: "for incompressible data, set dataPattern to Random"}
	if e.Profile.DataPattern == "" {
		made.Name = "default (Timestamp)"
	}
	numbers := strings.TrimPrefix(version, "IOR-")
	if strings.HasPrefix(numbers, "3.") {
		made.Remedy = "for incompressible data, set dataPattern to Incompressible"
	}
	for of, by := range ratios {
		if numbers == of || strings.HasPrefix(numbers, of+".") {
			made.RatioMilli = by[name]
		}
	}
	return made
}

// Result implements engine.Engine.
func (e Engine) Result(step *engine.Step, report *engine.Report, into *v1alpha1.TargetResult) engine.Findings {
	findings := engine.Findings{Pattern: e.patternOf(report.Version)}
	e.judgeFlushes(step, report, &findings)
	run, ran := runOf(v1alpha1.EngineIOR, step, report, &findings)
	if !ran {
		return findings
	}
	made := &v1alpha1.IORResult{MPIRun: run, API: cmp.Or(e.Profile.API, "POSIX"), DataPattern: e.Profile.DataPattern}
	for _, operation := range []measure.Operation{measure.Write, measure.Read} {
		if one, found := iorOperation(operation, report.Job.Repetitions); found {
			made.Operations = append(made.Operations, one)
		}
	}
	into.IOR = made
	if len(made.Operations) == 0 {
		findings.Warn(v1alpha1.WarningToolMessages, "IOR reported no results, because no repetition completed")
	}
	e.judgeRepetitions(step, report, &findings)
	return findings
}

// Result implements engine.Engine.
func (e Mdtest) Result(step *engine.Step, report *engine.Report, into *v1alpha1.TargetResult) engine.Findings {
	findings := engine.Findings{Pattern: engine.Pattern{Version: report.Version}}
	run, ran := runOf(v1alpha1.EngineMdtest, step, report, &findings)
	if !ran {
		return findings
	}
	into.Mdtest = &v1alpha1.MdtestResult{MPIRun: run}
	for _, rate := range report.Job.Rates[:min(len(report.Job.Rates), maxRates)] {
		into.Mdtest.Rates = append(into.Mdtest.Rates, v1alpha1.MdtestRate{
			Operation: v1alpha1.Truncate(rate.Operation, 64), MaxOPSMilli: measure.Round(rate.Max * 1000), MinOPSMilli: measure.Round(rate.Min * 1000),
			MeanOPSMilli: measure.Round(rate.Mean * 1000), StandardDeviationOPSMilli: measure.Round(rate.StandardDeviation * 1000),
		})
	}
	if len(into.Mdtest.Rates) == 0 {
		findings.Warn(v1alpha1.WarningResultIncomplete, "mdtest printed no rates: it prints them only when it ends")
	}
	return findings
}

// runOf describes how the tool ran as an MPI job, for the API. It returns false if client 0 did not report the job.
func runOf(kind v1alpha1.EngineKind, step *engine.Step, report *engine.Report, findings *engine.Findings) (v1alpha1.MPIRun, bool) {
	job := report.Job
	if job == nil {
		if slices.ContainsFunc(report.Clients, func(c engine.ClientReport) bool { return c.Usable }) {
			findings.Warn(v1alpha1.WarningResultIncomplete, "client 0 did not report the version and ranks of %s", kind)
		}
		return v1alpha1.MPIRun{}, false
	}
	run := v1alpha1.MPIRun{
		Version: v1alpha1.Truncate(report.Version, 64), MPIVersion: v1alpha1.Truncate(job.MPIVersion, 64),
		Ranks: int32(job.Ranks), Clients: int32(job.Clients), // #nosec G115 -- the conductor has bounded them
	}
	for _, word := range job.CommandLine {
		run.CommandLine = append(run.CommandLine, v1alpha1.Truncate(word, 512))
	}
	if wanted := step.Clients * step.Processes; job.Ranks != wanted && job.Ranks > 0 {
		findings.Warn(v1alpha1.WarningResultIncomplete, "only %d of %d ranks took part", job.Ranks, wanted)
	}
	return run, true
}

// leastFlushes is the minimum number of flushes in a step. With fewer flushes, the measured rate may reflect the
// clients' memory instead of the storage.
const leastFlushes = 5

// judgeFlushes warns if some written data may never have left the clients' memory. Without -Y, IOR flushes only at the
// end of each repetition, or never. In a step with a fixed duration, IOR overwrites its file repeatedly within a
// repetition, and data that is overwritten in memory never reaches the storage.
func (e Engine) judgeFlushes(step *engine.Step, report *engine.Report, findings *engine.Findings) {
	made, err := Describe(e.Profile, step.Clients, step.Processes)
	workBound := step.Purpose == v1alpha1.StepMeasure && step.Duration == 0
	if err != nil || !report.Measured || workBound || !made.Dirty {
		return
	}
	const remedy = ": set direct to true, or increase the phase's repetitions and make each one longer (raise stonewall or blockSize)"
	flushes, again := 0, false
	if report.Job != nil && made.SyncsAtEnd {
		for i := range report.Job.Repetitions {
			if repetition := &report.Job.Repetitions[i]; repetition.Operation == measure.Write {
				flushes++
				again = again || float64(repetition.Bytes) > (1+engine.MaxByteDifference)*float64(made.DatasetBytes)
			}
		}
	}
	switch {
	case !made.SyncsAtEnd:
		findings.Warn(v1alpha1.WarningDirtyPages, "writes go to the page cache and are not flushed in the measured time: set direct or fsync to true")
	case again:
		findings.Warn(v1alpha1.WarningDirtyPages, "writes go to the page cache, and files were overwritten more than once within a repetition before "+
			"they were flushed"+remedy)
	case flushes < leastFlushes:
		findings.Warn(v1alpha1.WarningDirtyPages, "writes go to the page cache and are flushed only at the end of each repetition, of which only %d completed"+remedy, flushes)
	}
}

// iorOperation summarizes all repetitions of one operation. It returns false if there are none.
func iorOperation(operation measure.Operation, all []engine.Repetition) (v1alpha1.IOROperation, bool) {
	made := v1alpha1.IOROperation{Operation: v1alpha1.Operation(operation.String())}
	var spread []Repetition
	var bytes uint64
	var listed []v1alpha1.IORRepetition
	for i := range all {
		if all[i].Operation != operation {
			continue
		}
		bytes = measure.Sum(bytes, all[i].Bytes)
		spread = append(spread, Repetition{Operation: operation, BytesPerSecond: measure.Round(all[i].BytesPerSecond), TotalNanoseconds: int64(all[i].Total)})
		listed = append(listed, iorRepetition(&all[i]))
	}
	if len(spread) == 0 {
		return made, false
	}
	over := Spread(spread)
	made.Count, made.Bytes, made.MeanNanoseconds = int32(len(spread)), measure.Clamp(bytes), over.MeanNanoseconds //nolint:gosec // The conductor has bounded them.
	made.MaxBytesPerSecond, made.MinBytesPerSecond = over.MaxBytesPerSecond, over.MinBytesPerSecond
	made.MeanBytesPerSecond, made.StandardDeviationBytesPerSecond = over.MeanBytesPerSecond, over.StdDevBytesPerSecond
	made.Repetitions = listed
	OmitRepetitions(&made, maxListedRepetitions)
	return made, true
}

// OmitRepetitions keeps at most the given number of listed repetitions: half of them from the start and half from the
// end.
func OmitRepetitions(of *v1alpha1.IOROperation, most int) {
	over := len(of.Repetitions) - most
	if over <= 0 {
		return
	}
	first := (most + 1) / 2
	of.Repetitions = slices.Concat(of.Repetitions[:first], of.Repetitions[first+over:])
	of.OmittedRepetitions += int32(over) //nolint:gosec // The conductor has bounded them.
}

func iorRepetition(from *engine.Repetition) v1alpha1.IORRepetition {
	made := v1alpha1.IORRepetition{
		Index: int32(from.Index), Bytes: measure.Clamp(from.Bytes), BytesEstimated: !from.BytesExact, //nolint:gosec // The conductor has bounded them.
		BytesPerSecond: measure.Round(from.BytesPerSecond), TotalNanoseconds: int64(from.Total),
		OpenNanoseconds: reported(from.Open), TransferNanoseconds: reported(from.Transfer), CloseNanoseconds: reported(from.Close),
	}
	if from.OperationsPerSecond > 0 {
		made.IOPSMilli = new(measure.Round(from.OperationsPerSecond * 1000))
	}
	return made
}

// reported returns a time that IOR printed, in nanoseconds. It returns nil if the time is not positive, which means
// that IOR did not print it.
func reported(length time.Duration) *int64 {
	if length <= 0 {
		return nil
	}
	return new(int64(length))
}

// sampleEdge is the uncertainty of a repetition's end time on the samples' time axis. The end usually lies within a
// sample, and the agent reads IOR's output line about the repetition some time after IOR printed it.
const sampleEdge = engine.SampleInterval + engine.SampleInterval/2

// judgeRepetitions warns if, at the end of a repetition, the number of bytes in the samples differs from the number
// that IOR reported. The samples of a time-bound step end with its duration. A repetition that ends later causes no
// warning if IOR reports more bytes than the samples.
func (e Engine) judgeRepetitions(step *engine.Step, report *engine.Report, findings *engine.Findings) {
	if report.Sampled == nil {
		return // another warning reports the missing samples
	}
	var reported [measure.NumOperations]uint64
	var worst float64
	var message string
	var sampledEnd time.Time
	if step.Purpose == v1alpha1.StepMeasure && step.Duration > 0 && len(report.Job.Repetitions) > 0 {
		first := &report.Job.Repetitions[0]
		sampledEnd = first.Ended.Add(step.WarmUp + step.Duration - first.Total)
	}
	for i := range report.Job.Repetitions {
		repetition := &report.Job.Repetitions[i]
		reported[repetition.Operation] = measure.Sum(reported[repetition.Operation], repetition.Bytes)
		if repetition.Ended.IsZero() {
			continue
		}
		least := float64(report.Sampled(repetition.Ended.Add(-sampleEdge), repetition.Operation))
		most := float64(report.Sampled(repetition.Ended.Add(sampleEdge), repetition.Operation))
		all := float64(reported[repetition.Operation])
		if all > most && !sampledEnd.IsZero() && repetition.Ended.After(sampledEnd.Add(sampleEdge)) {
			continue
		}
		sampled := least
		if all > most {
			sampled = most
		}
		apart := 1 - min(sampled, all)/max(sampled, all, 1)
		if all >= least && all <= most || apart <= engine.MaxByteDifference || apart <= worst {
			continue
		}
		worst = apart
		message = fmt.Sprintf("at the end of repetition %d of %s, the samples add up to %s, but IOR reports %s", repetition.Index,
			repetition.Operation, measure.FormatBytes(uint64(sampled)), measure.FormatBytes(reported[repetition.Operation]))
	}
	if message == "" {
		return
	}
	if isTrue(e.Profile.Collective) {
		message += "; with collective I/O, the samples also count data that ranks exchange"
	}
	findings.Warn(v1alpha1.WarningBytesUncertain, "%s", message)
}
