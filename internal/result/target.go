package result

import (
	"slices"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine/fio"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
)

// SampleInterval is how far apart the tool's live samples are meant to be.
const SampleInterval = time.Second

// Target makes the result of one target in a step, of what its clients reported and of what the
// run's history says of them. It never fails: what is missing or wrong is a warning of the result.
func Target(step plan.Step, target string, clients []Client, history History, remarks ...Remark) v1alpha1.TargetResult {
	b := builder{step: step, clients: clients, history: history}
	b.result.Target = target
	b.result.WorkBound = step.WorkBound()
	if engine := step.Workloads[target]; engine != nil {
		b.describe(engine)
	}
	for _, remark := range remarks {
		b.warnings.addClient(remark.Warning, remark.Client, "%s", remark.Message)
	}
	b.judgeClients()
	b.throughput()
	b.operations()
	b.judgeSizes()
	b.judgeTool()
	b.judgeMachines()
	b.judgePromise()
	b.judgeSeries()
	b.inFlight()
	b.judgeJob(step.Workloads[target])
	b.command(step.Workloads[target])
	b.usage()
	b.result.Warnings = b.warnings.list(step.Kind)
	return b.result
}

// builder collects one target's result.
type builder struct {
	step    plan.Step
	clients []Client
	history History
	// traits of the load; those of the workload do not hold while its files are laid out.
	traits   traitsOf
	measured bool
	// spans says that all clients are one job of MPI, mdtest that it is mdtest's. job is what it says of itself,
	// nil where it does not, and jobVersion the version of the tool.
	spans, mdtest bool
	job           *Job
	jobVersion    string
	// program is what is known of programs of the user; nil for other loads.
	program *program
	// hosted are clients without ranks of their own.
	hosted []Client
	// usable are the clients with a result, series their samples, and loaded these up to the end of the
	// client's load.
	usable []Client
	series []*measure.Series
	loaded []*measure.Series
	// cutShort are the samples of clients of a drain without a result, up to when they were lost.
	cutShort []*measure.Series
	rates    measure.Rates
	// each is the rates of the usable clients; nil where they cannot be told apart.
	each []measure.Rates
	// demanded and demandKnown cache the result of demand.
	demanded    *plan.Demand
	demandKnown bool
	result      v1alpha1.TargetResult
	warnings    warnings
}

// demand is what the step asks of the target; false where nobody can tell. It reads the workload once.
func (b *builder) demand() (plan.Demand, bool) {
	if b.demanded == nil {
		made, known := b.step.Demand(b.result.Target)
		b.demanded, b.demandKnown = &made, known
	}
	return *b.demanded, b.demandKnown
}

// judgeSeries judges the rate over time, as the step's purpose asks.
func (b *builder) judgeSeries() {
	if len(b.usable)+len(b.cutShort) == 0 {
		return
	}
	steady := b.step.Kind == v1alpha1.PhaseSteady && b.step.Purpose == plan.Measure && !b.step.WorkBound()
	drain := b.step.Purpose == plan.Drain
	if !steady && !drain {
		return
	}
	s, _ := b.sumUp()
	if steady {
		b.judgeSteady(s)
	}
	if drain {
		b.judgeDrain(s)
	}
}

// describe finds out what the load was like. The plan has done so before the run, so that a
// workload which cannot be described comes from a record that somebody has changed.
func (b *builder) describe(engine *v1alpha1.Engine) {
	b.measured = b.step.Purpose == plan.Measure || b.step.Purpose == plan.Drain
	if engine.SpansClients() {
		b.describeJob(engine)
		return
	}
	if engine.Command != nil {
		return // what it does nobody knows before
	}
	parameters := fio.Parameters{}
	if b.measured {
		parameters = b.step.FioParameters(0, 0)
	}
	traits, err := fio.DescribeStep(engine.Fio, parameters)
	if err != nil {
		b.warnings.add(v1alpha1.WarningToolMessages, nil, "whether a cache took part was not judged: %s", err)
		b.measured = false
		return
	}
	b.traits = traitsOf{
		Reads: traits.Reads, Writes: traits.Writes, Syncs: traits.Syncs, SyncsAtEnd: traits.SyncsAtEnd, Buffered: traits.Buffered,
		Jobs: traits.Jobs, DatasetBytes: traits.DatasetBytes,
	}
}

// traitsOf are what is judged of a load of any engine.
type traitsOf struct {
	Reads, Writes, Syncs, SyncsAtEnd, Buffered bool
	// Jobs are threads that one CPU each is enough for; 0 where that says nothing.
	Jobs int
	// DatasetBytes of each client, and TransferBytes of each operation of a job of MPI where it is known.
	DatasetBytes, TransferBytes uint64
}

// judgeClients sorts out clients without a result.
func (b *builder) judgeClients() {
	if len(b.clients) == 0 {
		b.warnings.add(v1alpha1.WarningResultIncomplete, nil, "no client reported anything")
	}
	for i := range b.clients {
		client := &b.clients[i]
		b.judgeNotices(client)
		if !b.judgeEnd(client) {
			b.keepWhatThereIs(client)
			continue
		}
		b.chooseCounts(client)
		series, refused, err := seriesOf(client.Samples)
		if err != nil {
			b.warnings.addClient(v1alpha1.WarningResultIncomplete, client.Index, "its samples cannot be: %s", err)
			continue
		}
		if refused > 0 {
			b.warnings.addClient(v1alpha1.WarningSamplesLost, client.Index, "samples with impossible times were left out")
		}
		span, measured := series.Span()
		if !measured {
			if b.hostedBy(client) {
				b.hosted = append(b.hosted, *client)
			} else {
				b.judgeNoSamples(client)
			}
			continue
		}
		b.usable = append(b.usable, *client)
		b.series = append(b.series, series)
		b.loaded = append(b.loaded, until(series, b.loadEnd(span)))
	}
	b.result.Clients = int32(len(b.usable) + len(b.hosted)) //nolint:gosec // The API allows far fewer clients.
}

// keepWhatThereIs: a drain cannot be repeated, so that what it found up to the loss of a client is told.
// Without that client the others would seem to have made all of the rate.
func (b *builder) keepWhatThereIs(client *Client) {
	if b.step.Purpose != plan.Drain {
		return
	}
	if series, _, err := seriesOf(client.Samples); err == nil {
		if span, measured := series.Span(); measured {
			b.cutShort = append(b.cutShort, until(series, b.loadEnd(span)))
		}
	}
}

// judgeEnd reports whether the client ended with a result.
func (b *builder) judgeEnd(client *Client) bool {
	switch {
	case client.Failure == v1alpha1.ReasonClientLost:
		b.warnings.addClient(v1alpha1.WarningClientLost, client.Index, "%s", client.FailureMessage)
	case !client.Ended && client.Failure != "":
		b.warnings.addClient(v1alpha1.WarningResultIncomplete, client.Index, "took no part: %s: %s", client.Failure, client.FailureMessage)
	case !client.Ended:
		b.warnings.addClient(v1alpha1.WarningResultIncomplete, client.Index, "reported no end")
	case client.Failure != "":
		b.warnings.addClient(v1alpha1.WarningToolError, client.Index, "%s: %s", client.Failure, client.FailureMessage)
	default:
		// Who was stopped since enough was measured has done all that was wanted.
		if client.Stopped && b.history.Concluded.IsZero() {
			b.warnings.addClient(v1alpha1.WarningResultIncomplete, client.Index, "stopped before its time: %s", client.StopMessage)
		}
		return true
	}
	return false
}

// judgeNoSamples is a client with an end of which nothing is known over time. It cannot be part of
// a rate, so it is no part of the result, and the result is not what was asked for.
func (b *builder) judgeNoSamples(client *Client) {
	if b.step.Purpose == plan.Prepare && slices.ContainsFunc(client.Notices, func(n Notice) bool { return n.Warning == string(v1alpha1.WarningLayoutReused) }) {
		return // its files were there already, so that nothing was written
	}
	for _, operation := range client.Operations {
		if operation.Operations > 0 {
			b.warnings.addClient(v1alpha1.WarningResultIncomplete, client.Index,
				"there are no samples of its measured time, so its figures are left out")
			return
		}
	}
	if b.ratesAlone() {
		return
	}
	b.warnings.addClient(v1alpha1.WarningNoOperations, client.Index, "completed nothing in the measured time")
}

func (b *builder) judgeNotices(client *Client) {
	for _, notice := range client.Notices {
		kind, prefix := warningType(notice.Warning)
		b.warnings.addClient(kind, client.Index, "%s%s", prefix, notice.Message)
	}
}
