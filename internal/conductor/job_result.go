package conductor

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/engine"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/result"
)

// Limits for the results of IOR and mdtest.
const (
	// maxRepetitions is the maximum number of repetitions that a plan requests from IOR, for reads and writes together.
	maxRepetitions  = 2 * 50_000
	maxRates        = 32
	maxCommandWords = 256
	maxWordLength   = 512
	maxRanks        = 1 << 21
	// maxRate is the highest plausible rate. It is far above any real rate, and fits into an int64 even if it is stored
	// in thousandths.
	maxRate = 1e15
)

// jobResult returns the fields of a job's result that the conductor keeps, with bounded and sanitized values.
func jobResult(from *agentapi.MpiResult) (*agentapi.MpiResult, error) {
	if from == nil {
		return nil, nil
	}
	if len(from.GetRepetitions()) > maxRepetitions || len(from.GetRates()) > maxRates || len(from.GetCommandLine()) > maxCommandWords {
		return nil, fmt.Errorf("invalid result: too many repetitions (%d), rates (%d) or command-line arguments (%d)",
			len(from.GetRepetitions()), len(from.GetRates()), len(from.GetCommandLine()))
	}
	kept := &agentapi.MpiResult{
		Ranks: from.GetRanks(), Clients: from.GetClients(), MpiVersion: clean(from.GetMpiVersion(), maxVersionLength),
		Repetitions: from.GetRepetitions(), Rates: from.GetRates(),
	}
	for _, word := range from.GetCommandLine() {
		kept.CommandLine = append(kept.CommandLine, clean(word, maxWordLength))
	}
	for _, rate := range kept.GetRates() {
		rate.Operation = clean(rate.GetOperation(), maxVersionLength)
	}
	return kept, nil
}

// addJob checks and converts the results of IOR or mdtest.
func addJob(to *result.Client, from *agentapi.MpiResult, clock measure.RemoteClock) error {
	if from == nil {
		return nil
	}
	if from.GetRanks() < 0 || from.GetRanks() > maxRanks || from.GetClients() < 0 || from.GetClients() > from.GetRanks() {
		return fmt.Errorf("invalid result: %d ranks in %d clients is implausible", from.GetRanks(), from.GetClients())
	}
	job := &engine.Job{
		CommandLine: from.GetCommandLine(), Ranks: int(from.GetRanks()), Clients: int(from.GetClients()), MPIVersion: from.GetMpiVersion(),
	}
	for _, reported := range from.GetRepetitions() {
		repetition, err := repetitionOf(reported, clock)
		if err != nil {
			return err
		}
		job.Repetitions = append(job.Repetitions, repetition)
	}
	for _, reported := range from.GetRates() {
		rate := engine.JobRate{
			Operation: reported.GetOperation(), Max: reported.GetMaxOperationsPerSecond(), Min: reported.GetMinOperationsPerSecond(),
			Mean: reported.GetMeanOperationsPerSecond(), StandardDeviation: reported.GetStandardDeviationOperationsPerSecond(),
		}
		if !allPlausible(rate.Max, rate.Min, rate.Mean, rate.StandardDeviation) || rate.Operation == "" {
			return fmt.Errorf("invalid result: %q with %v operations/s is implausible", rate.Operation, rate.Mean)
		}
		job.Rates = append(job.Rates, rate)
	}
	to.Job = job
	return nil
}

func repetitionOf(from *agentapi.Repetition, clock measure.RemoteClock) (engine.Repetition, error) {
	if from.GetOperation() >= measure.NumOperations {
		return engine.Repetition{}, fmt.Errorf("invalid repetition: operation %d is out of range: must be below %d", from.GetOperation(), measure.NumOperations)
	}
	if !allPlausible(from.GetBytesPerSecond(), max(from.GetOperationsPerSecond(), 0)) || from.GetTotalNanoseconds() <= 0 ||
		from.GetTotalNanoseconds() > maxInstant || from.GetIndex() < 0 {
		return engine.Repetition{}, errors.New("invalid repetition: its rate, duration or index is out of range")
	}
	if ended := from.GetEndedNanoseconds(); ended < -maxInstant || ended > maxInstant {
		return engine.Repetition{}, fmt.Errorf("invalid repetition: end time of %d ns is out of range", ended)
	}
	return engine.Repetition{
		Operation: measure.Operation(from.GetOperation()), Index: int(from.GetIndex()), Bytes: from.GetBytes(), BytesExact: from.GetBytesExact(),
		BytesPerSecond: from.GetBytesPerSecond(), OperationsPerSecond: from.GetOperationsPerSecond(),
		Open: time.Duration(from.GetOpenNanoseconds()), Transfer: time.Duration(from.GetTransferNanoseconds()),
		Close: time.Duration(from.GetCloseNanoseconds()), Total: time.Duration(from.GetTotalNanoseconds()),
		Ended: instant(clock, from.GetEndedNanoseconds()),
	}, nil
}

// allPlausible reports whether all figures are plausible: numbers from 0 to maxRate.
func allPlausible(figures ...float64) bool {
	return !slices.ContainsFunc(figures, func(figure float64) bool { return math.IsNaN(figure) || figure < 0 || figure > maxRate })
}
