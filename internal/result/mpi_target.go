package result

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine/ior"
	"github.com/storagebench/storagebench/internal/measure"
)

// maxRepetitions of one operation are listed, and maxRates of mdtest; bounds of the API.
const (
	maxRepetitions = 32
	maxRates       = 32
)

// minMeasuredShare of the time that was asked for; with less a result is not of that.
const minMeasuredShare = 0.8

// describeJob finds out what a job of MPI does.
func (b *builder) describeJob(engine *v1alpha1.Engine) {
	b.spans = true
	b.mdtest = engine.Mdtest != nil
	clients, ranks := max(b.step.Clients, 1), max(b.step.Processes, 1)
	traits, err := ior.Traits{}, error(nil)
	if b.mdtest {
		traits, err = ior.DescribeMdtest(engine.Mdtest, clients, ranks)
	} else {
		traits, err = ior.Describe(engine.IOR, clients, ranks)
	}
	if err != nil {
		b.warnings.add(v1alpha1.WarningToolMessages, nil, "whether a cache took part was not judged: %s", err)
		b.measured = false
		return
	}
	if b.mdtest && slices.ContainsFunc(engine.Mdtest.Args, func(argument string) bool { return strings.HasPrefix(strings.TrimSpace(argument), "-N") }) {
		traits.Reads = b.step.Clients == 1 // else what others have written
	}
	b.traits = traitsOf{
		// What mdtest leaves in memory is no part of its figures.
		TransferBytes: traits.TransferBytes,
		Reads:         traits.Reads, Writes: traits.Writes && !b.mdtest, Buffered: traits.Buffered, SyncsAtEnd: traits.SyncsAtEnd,
		DatasetBytes: traits.ClientBytes,
	}
	for i := range b.clients {
		if job := b.clients[i].Job; job != nil {
			b.job, b.jobVersion = job, b.clients[i].ToolVersion
			break
		}
	}
}

// hostedBy says that a client has no ranks of its own: those of all clients with one address are started
// together, by one of them, so that it has nothing to sample.
func (b *builder) hostedBy(client *Client) bool {
	if !b.spans || client.Machine == "" || len(client.Samples) > 0 || client.total() > 0 {
		return false
	}
	return slices.ContainsFunc(b.clients, func(other Client) bool {
		return other.Index != client.Index && other.Machine == client.Machine && len(other.Samples) > 0
	})
}

// total operations of a client.
func (c *Client) total() uint64 {
	var total uint64
	for _, operation := range c.Operations {
		total = sum(total, operation.Operations)
	}
	return total
}

// judgeJob adds what ior or mdtest say of themselves.
func (b *builder) judgeJob(engine *v1alpha1.Engine) {
	if !b.spans {
		return
	}
	if !b.step.WorkBound() && b.step.Purpose == v1alpha1.StepMeasure && len(b.usable) > 0 && !b.stopped() &&
		float64(b.result.WindowNanoseconds) < minMeasuredShare*float64(b.step.Duration) {
		b.warnings.add(v1alpha1.WarningCommonWindowTooShort, nil, "measured for %s of the requested %s: raise blockSize so that the work lasts",
			time.Duration(b.result.WindowNanoseconds).Round(time.Millisecond), b.step.Duration)
	}
	b.judgeFlushes()
	if b.job == nil {
		if len(b.usable) > 0 {
			b.warnings.add(v1alpha1.WarningResultIncomplete, nil, "client 0 did not tell what %s says of itself", engine.EngineKind())
		}
		return
	}
	run := v1alpha1.MPIRun{
		Version: v1alpha1.Truncate(b.jobVersion, 64), MPIVersion: v1alpha1.Truncate(b.job.MPIVersion, 64),
		Ranks: int32(b.job.Ranks), Clients: int32(b.job.Clients), //nolint:gosec // The conductor has bounded them.
	}
	for _, word := range b.job.CommandLine {
		run.CommandLine = append(run.CommandLine, v1alpha1.Truncate(word, 512))
	}
	if wanted := b.step.Clients * b.step.Processes; b.job.Ranks != wanted && b.job.Ranks > 0 {
		b.warnings.add(v1alpha1.WarningResultIncomplete, nil, "%d of %d ranks took part", b.job.Ranks, wanted)
	}
	if b.mdtest {
		b.judgeMdtest(run)
		return
	}
	b.judgeIOR(run, engine.IOR)
}

// lasted says that a step was ended since it had lasted as long as it may, and for nothing that was seen. So are
// those with a job of MPI on any of their targets.
func (b *builder) lasted() bool {
	if !b.step.SpansAnyClients() || b.step.Duration <= 0 {
		return false
	}
	return slices.ContainsFunc(b.clients, func(c Client) bool {
		return !c.Released.IsZero() && b.history.Concluded.Sub(c.Released) >= b.step.Duration-time.Second
	})
}

// leastFlushes of a step, for its rate to be that of the storage and not of the clients' memory.
const leastFlushes = 5

// judgeFlushes finds writes to the clients' own memory. IOR flushes at the end of each repetition, where it does, and
// one that is bound by time begins its file again and again within a repetition: what is overwritten in memory gets
// nowhere.
func (b *builder) judgeFlushes() {
	if !b.measured || b.mdtest || b.step.WorkBound() || !b.traits.Writes || !b.traits.Buffered || len(b.usable) == 0 {
		return
	}
	const remedy = ": set direct, or let more and larger repetitions end in the phase (stonewall, blockSize)"
	flushes, again := 0, false
	if b.job != nil && b.traits.SyncsAtEnd {
		for i := range b.job.Repetitions {
			if repetition := &b.job.Repetitions[i]; repetition.Operation == measure.Write {
				flushes++
				again = again || float64(repetition.Bytes) > (1+maxByteDifference)*float64(b.traits.DatasetBytes)*float64(max(b.step.Clients, 1))
			}
		}
	}
	switch {
	case !b.traits.SyncsAtEnd:
		b.warnings.add(v1alpha1.WarningDirtyPages, nil, "writes go to the page cache and are not flushed in the measured time: set direct, or fsync")
	case again:
		b.warnings.add(v1alpha1.WarningDirtyPages, nil, "writes go to the page cache, and within a repetition the files were written over more than once before "+
			"they were flushed"+remedy)
	case flushes < leastFlushes:
		b.warnings.add(v1alpha1.WarningDirtyPages, nil, "writes go to the page cache and are flushed at the end of a repetition only, of which %d ended"+remedy, flushes)
	}
}

// stopped says that a client was ended before its time.
func (b *builder) stopped() bool {
	return slices.ContainsFunc(b.usable, func(c Client) bool { return c.Stopped })
}

func (b *builder) judgeMdtest(run v1alpha1.MPIRun) {
	made := &v1alpha1.MdtestResult{MPIRun: run}
	for _, rate := range b.job.Rates[:min(len(b.job.Rates), maxRates)] {
		made.Rates = append(made.Rates, v1alpha1.MdtestRate{
			Operation: v1alpha1.Truncate(rate.Operation, 64), MaxOPSMilli: rounded(rate.Max * 1000), MinOPSMilli: rounded(rate.Min * 1000),
			MeanOPSMilli: rounded(rate.Mean * 1000), StandardDeviationOPSMilli: rounded(rate.StandardDeviation * 1000),
		})
	}
	b.result.Mdtest = made
	b.result.ClientSpread = nil // by bytes, which mdtest does not measure
	if len(made.Rates) == 0 {
		b.warnings.add(v1alpha1.WarningResultIncomplete, nil, "mdtest printed no rates: it prints them once, at its end")
	}
}

func (b *builder) judgeIOR(run v1alpha1.MPIRun, profile *v1alpha1.IORProfile) {
	made := &v1alpha1.IORResult{MPIRun: run, API: cmp.Or(profile.API, "POSIX"), DataPattern: profile.DataPattern}
	for _, operation := range []measure.Operation{measure.Write, measure.Read} {
		if one, found := iorOperation(operation, b.job.Repetitions); found {
			made.Operations = append(made.Operations, one)
		}
	}
	b.result.IOR = made
	if len(made.Operations) == 0 {
		b.warnings.add(v1alpha1.WarningToolMessages, nil, "no repetition of IOR ended, so that it has no figures of its own")
	}
	b.judgeRepetitions(profile)
}

// iorOperation is the figures of one operation over its repetitions.
func iorOperation(operation measure.Operation, all []Repetition) (v1alpha1.IOROperation, bool) {
	made := v1alpha1.IOROperation{Operation: v1alpha1.Operation(operation.String())}
	var spread []ior.Repetition
	var bytes uint64
	var listed []v1alpha1.IORRepetition
	for i := range all {
		if all[i].Operation != operation {
			continue
		}
		bytes = sum(bytes, all[i].Bytes)
		spread = append(spread, ior.Repetition{Operation: operation, BytesPerSecond: rounded(all[i].BytesPerSecond), TotalNanoseconds: int64(all[i].Total)})
		listed = append(listed, iorRepetition(&all[i]))
	}
	if len(spread) == 0 {
		return made, false
	}
	over := ior.Spread(spread)
	made.Count, made.Bytes, made.MeanNanoseconds = int32(len(spread)), clamp(bytes), over.MeanNanoseconds //nolint:gosec // The conductor has bounded them.
	made.MaxBytesPerSecond, made.MinBytesPerSecond = over.MaxBytesPerSecond, over.MinBytesPerSecond
	made.MeanBytesPerSecond, made.StandardDeviationBytesPerSecond = over.MeanBytesPerSecond, over.StdDevBytesPerSecond
	made.Repetitions = listed
	OmitRepetitions(&made, maxRepetitions)
	return made, true
}

// OmitRepetitions leaves so many listed at most, half of them the first ones and half the last ones.
func OmitRepetitions(of *v1alpha1.IOROperation, most int) {
	over := len(of.Repetitions) - most
	if over <= 0 {
		return
	}
	first := (most + 1) / 2
	of.Repetitions = slices.Concat(of.Repetitions[:first], of.Repetitions[first+over:])
	of.OmittedRepetitions += int32(over) //nolint:gosec // The conductor has bounded them.
}

func iorRepetition(from *Repetition) v1alpha1.IORRepetition {
	made := v1alpha1.IORRepetition{
		Index: int32(from.Index), Bytes: clamp(from.Bytes), BytesEstimated: !from.BytesExact, //nolint:gosec // The conductor has bounded them.
		BytesPerSecond: rounded(from.BytesPerSecond), TotalNanoseconds: int64(from.Total),
		OpenNanoseconds: told(from.Open), TransferNanoseconds: told(from.Transfer), CloseNanoseconds: told(from.Close),
	}
	if from.OperationsPerSecond > 0 {
		iopsMilli := rounded(from.OperationsPerSecond * 1000)
		made.IOPSMilli = &iopsMilli
	}
	return made
}

// told is nil where IOR did not print a time.
func told(length time.Duration) *int64 {
	if length <= 0 {
		return nil
	}
	nanoseconds := int64(length)
	return &nanoseconds
}

// sampleEdge is how far the samples at an instant may be off: it lies inside of one, and a line of IOR is read
// when it is there.
const sampleEdge = SampleInterval + SampleInterval/2

// judgeRepetitions holds the samples against IOR's own bytes when each repetition has ended.
func (b *builder) judgeRepetitions(profile *v1alpha1.IORProfile) {
	if len(b.series)+len(b.hosted) < b.step.Clients {
		return // samples of a client are missing, which is told
	}
	var told [measure.NumOperations]uint64
	var worst float64
	var message string
	for i := range b.job.Repetitions {
		repetition := &b.job.Repetitions[i]
		told[repetition.Operation] = sum(told[repetition.Operation], repetition.Bytes)
		if repetition.Ended.IsZero() || len(b.series) == 0 {
			continue
		}
		least := float64(b.sampledUntil(repetition.Ended.Add(-sampleEdge), repetition.Operation))
		most := float64(b.sampledUntil(repetition.Ended.Add(sampleEdge), repetition.Operation))
		all := float64(told[repetition.Operation])
		sampled := least
		if all > most {
			sampled = most
		}
		apart := 1 - min(sampled, all)/max(sampled, all, 1)
		if all >= least && all <= most || apart <= maxByteDifference || apart <= worst {
			continue
		}
		worst = apart
		message = fmt.Sprintf("when repetition %d of %s had ended, the samples added up to %s, and IOR says %s", repetition.Index,
			repetition.Operation, measure.FormatBytes(uint64(sampled)), measure.FormatBytes(told[repetition.Operation]))
	}
	if message == "" {
		return
	}
	if profile.Collective != nil && *profile.Collective {
		message += "; the ranks pass data to each other, which counts as read and written too"
	}
	b.warnings.add(v1alpha1.WarningBytesUncertain, nil, "%s", message)
}

// sampledUntil is the bytes of an operation up to an instant, over all clients, the warm-up included.
func (b *builder) sampledUntil(at time.Time, operation measure.Operation) uint64 {
	var bytes uint64
	for _, series := range b.series {
		bytes = sum(bytes, series.CountersAt(at.UnixNano())[operation].Bytes)
	}
	return bytes
}

// repetitionRates puts IOR's own definition in place of that by samples: the bytes of all repetitions of an
// operation over the time that they took, from the first start to the last end of each.
func (b *builder) repetitionRates() {
	if b.job == nil || len(b.job.Repetitions) == 0 {
		return
	}
	var bytes [measure.NumOperations]uint64
	var length [measure.NumOperations]time.Duration
	var start, end time.Time
	for i := range b.job.Repetitions {
		repetition := &b.job.Repetitions[i]
		bytes[repetition.Operation] = sum(bytes[repetition.Operation], repetition.Bytes)
		length[repetition.Operation] += repetition.Total
		if began := repetition.Ended.Add(-repetition.Total); start.IsZero() || began.Before(start) {
			start = began
		}
		if repetition.Ended.After(end) {
			end = repetition.Ended
		}
	}
	for operation := range bytes {
		if length[operation] <= 0 {
			continue
		}
		rate := &b.rates[operation]
		rate.Bytes = bytes[operation]
		rate.BytesPerSecond = float64(bytes[operation]) / length[operation].Seconds()
		if transfer := b.traits.TransferBytes; transfer > 0 {
			// What the ranks say to each other are operations too, in the samples.
			rate.Operations = bytes[operation] / transfer
		}
		rate.OperationsPerSecond = float64(rate.Operations) / length[operation].Seconds()
	}
	b.result.WindowNanoseconds = int64(end.Sub(start))
}

// ratesAlone says that there need be no operations: mdtest moves no bytes where its files are empty.
func (b *builder) ratesAlone() bool { return b.mdtest && b.job != nil && len(b.job.Rates) > 0 }
