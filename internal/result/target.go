package result

import (
	"cmp"
	"slices"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
)

// SampleInterval is the intended interval of the tool's live samples.
const SampleInterval = engine.SampleInterval

// Target computes the result of one target in a step from the reports of its clients and the run's history. It never
// fails: if anything is missing or wrong, the result has a warning.
func Target(step plan.Step, target string, clients []Client, history History, remarks ...Remark) v1alpha1.TargetResult {
	b := newBuilder(step, target, clients, history)
	b.remarks = remarks
	b.result.WorkBound = step.WorkBound()
	for _, remark := range remarks {
		b.warnings.addClient(remark.Warning, remark.Client, "%s", remark.Message)
	}
	b.judgeClients()
	b.consult()
	b.throughput()
	b.operations()
	b.inFlight()
	b.judgeSizes()
	b.judgeTool()
	b.judgeMachines()
	b.judgePromise()
	b.judgeSeries()
	b.judgeShort()
	b.addFindings()
	b.usage()
	b.result.Warnings = b.warnings.list(step.Kind)
	return b.result
}

// builder builds one target's result.
type builder struct {
	step    plan.Step
	clients []Client
	history History
	// remarks are the warnings about clients that are based on the run's history.
	remarks []Remark
	// load is the workload, and described holds the engine's description of it. measured is true if the step measures
	// the workload itself instead of only preparing for it.
	load      engine.Load
	described engine.Description
	measured  bool
	// job holds the figures that an MPI job itself reported, or is nil if there are none. jobVersion is the version of
	// the job's tool.
	job        *engine.Job
	jobVersion string
	// findings are the engine's conclusions from the clients' reports.
	findings engine.Findings
	// unsampled are the clients of an MPI job that took part without samples of their own: another client runs their
	// ranks, or the job moves no data.
	unsampled []Client
	// usable are the clients with a result. series are their samples, and loaded the samples up to the end of each
	// client's load.
	usable []Client
	series []*measure.Series
	loaded []*measure.Series
	// cutShort holds the samples of clients that have no result, such as lost clients. It is used only for drains.
	cutShort []*measure.Series
	rates    measure.Rates
	// each holds the rates of each client in usable. It is nil if the rates of the clients are not known individually,
	// for example because one client counts the I/O of several clients.
	each []measure.Rates
	// demanded and demandKnown cache the result of demand.
	demanded    *plan.Demand
	demandKnown bool
	result      v1alpha1.TargetResult
	warnings    warnings
}

// demand returns the load that the step requests from the target, or false if it cannot be determined. It caches the
// result.
func (b *builder) demand() (plan.Demand, bool) {
	if b.demanded == nil {
		made, known := b.step.Demand(b.result.Target)
		b.demanded, b.demandKnown = &made, known
	}
	return *b.demanded, b.demandKnown
}

// judgeSeries assesses the rate over time, according to the step's purpose.
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

// newBuilder returns a builder with the properties of the load, which it gets from the engine's description of the
// workload. The planner has already used that description before the run, so an error here means that the recorded
// workload was changed after that.
func newBuilder(step plan.Step, target string, clients []Client, history History) *builder {
	b := &builder{step: step, clients: clients, history: history, load: step.Load(target)}
	b.result.Target = target
	if b.load.Kind == "" {
		return b
	}
	b.measured = b.step.Purpose == plan.Measure || b.step.Purpose == plan.Drain
	if b.load.SpansClients {
		for i := range b.clients {
			if job := b.clients[i].Job; job != nil {
				b.job, b.jobVersion = job, b.clients[i].ToolVersion
				break
			}
		}
	}
	var err error
	if b.described, err = b.load.Describe(new(b.step.For(b.result.Target))); err != nil {
		b.warnings.add(v1alpha1.WarningToolMessages, nil, "the effect of caches was not assessed: %s", err)
		b.measured = false
	}
	return b
}

// judgeClients separates clients with a result from clients without one.
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
		series, refused, err := client.series()
		if err != nil {
			b.warnings.addClient(v1alpha1.WarningResultIncomplete, client.Index, "invalid samples: %s", err)
			continue
		}
		if refused > 0 {
			b.warnings.addClient(v1alpha1.WarningSamplesLost, client.Index, "samples with impossible times were left out")
		}
		span, measured := series.Span()
		if !measured {
			if b.hostedBy(client) || b.ratesAlone() && client.total() == 0 {
				b.unsampled = append(b.unsampled, *client)
			} else {
				b.judgeNoSamples(client)
			}
			continue
		}
		b.usable = append(b.usable, *client)
		b.series = append(b.series, series)
		b.loaded = append(b.loaded, series.Until(b.loadEnd(span)))
	}
	b.result.Clients = int32(len(b.usable) + len(b.unsampled)) //nolint:gosec // The API allows far fewer clients.
}

// consult passes the clients' reports to the engine and applies the byte and operation counts that the engine returns.
func (b *builder) consult() {
	if b.load.Kind == "" {
		return
	}
	report := engine.Report{Measured: b.measured && len(b.usable) > 0, Job: b.job, Version: b.jobVersion}
	report.SharesMachine = slices.ContainsFunc(b.remarks, func(r Remark) bool { return r.Warning == v1alpha1.WarningSharedClientNode })
	usable := map[int]bool{}
	for i := range b.usable {
		usable[b.usable[i].Index] = true
	}
	for i := range b.clients {
		client := &b.clients[i]
		report.Clients = append(report.Clients, engine.ClientReport{
			Index: client.Index, Machine: client.Machine, Usable: usable[client.Index], Program: client.Command, Like: client.Like,
			Output: client.Output,
		})
		if !b.load.SpansClients {
			report.Version = cmp.Or(report.Version, client.ToolVersion)
		}
	}
	if len(b.series) > 0 && len(b.series)+len(b.unsampled) >= b.step.Clients {
		report.Sampled = b.sampledUntil
	}
	b.findings = b.load.Result(new(b.step.For(b.result.Target)), &report, &b.result)
	for i := range b.usable {
		count, counted := b.findings.Counted[b.usable[i].Index]
		if !counted {
			continue
		}
		// If the engine found only byte counts, keep the operation counts that the program reported.
		read, write := &b.usable[i].Operations[measure.Read].Counter, &b.usable[i].Operations[measure.Write].Counter
		reads, writes := read.Operations, write.Operations
		if count.HasOperations {
			reads, writes = count.ReadOperations, count.WriteOperations
		}
		b.usable[i].Operations = [measure.NumOperations]Operation{}
		*read, *write = measure.Counter{Bytes: count.ReadBytes, Operations: reads}, measure.Counter{Bytes: count.WriteBytes, Operations: writes}
	}
}

// addFindings adds the engine's warnings to the result.
func (b *builder) addFindings() {
	for _, warning := range b.findings.Warnings {
		b.warnings.add(warning.Type, warning.Clients, "%s", warning.Text)
	}
	if b.described.Metadata && b.job != nil {
		// ClientSpread compares the clients' byte rates, but a metadata load moves no bytes.
		b.result.ClientSpread = nil
	}
}

// keepWhatThereIs keeps the samples of a client that has no result, such as a lost client, if the step is a drain. A
// drain cannot be repeated, so its result up to the loss is reported. Without the samples of the lost client, the other
// clients would seem to have produced the whole rate.
func (b *builder) keepWhatThereIs(client *Client) {
	if b.step.Purpose != plan.Drain {
		return
	}
	if series, _, err := client.series(); err == nil {
		if span, measured := series.Span(); measured {
			b.cutShort = append(b.cutShort, series.Until(b.loadEnd(span)))
		}
	}
}

// judgeEnd reports whether the client ended with a result.
func (b *builder) judgeEnd(client *Client) bool {
	switch {
	case client.Failure == v1alpha1.ReasonClientLost:
		b.warnings.addClient(v1alpha1.WarningClientLost, client.Index, "%s", client.FailureMessage)
	case !client.Ended && client.Failure != "":
		b.warnings.addClient(v1alpha1.WarningResultIncomplete, client.Index, "did not take part: %s: %s", client.Failure, client.FailureMessage)
	case !client.Ended:
		b.warnings.addClient(v1alpha1.WarningResultIncomplete, client.Index, "did not report that it ended")
	case client.Failure != "":
		b.warnings.addClient(v1alpha1.WarningToolError, client.Index, "%s: %s", client.Failure, client.FailureMessage)
	default:
		// A client that was stopped because the step had measured enough has a complete result.
		if client.Stopped && b.history.Concluded.IsZero() {
			b.warnings.addClient(v1alpha1.WarningResultIncomplete, client.Index, "stopped early: %s", client.StopMessage)
		}
		return true
	}
	return false
}

// judgeNoSamples warns if a client ended without samples. Such a client cannot contribute to a rate, so it is left out
// of the result, which is then incomplete.
func (b *builder) judgeNoSamples(client *Client) {
	if b.step.Purpose == plan.Prepare && slices.ContainsFunc(client.Notices, func(n Notice) bool { return n.Warning == string(v1alpha1.WarningLayoutReused) }) {
		return // the client's files already existed, so it wrote nothing and has no samples
	}
	switch {
	case client.total() > 0:
		b.warnings.addClient(v1alpha1.WarningResultIncomplete, client.Index,
			"no samples from the measured time, so the figures are omitted")
	case !b.setsUp():
		b.warnings.addClient(v1alpha1.WarningNoOperations, client.Index, "completed nothing in the measured time")
	}
}

// setsUp reports whether the step runs the setup of a program, which may perform no I/O at all.
func (b *builder) setsUp() bool { return b.step.Purpose == plan.Prepare && b.described.Setup != "" }

func (b *builder) judgeNotices(client *Client) {
	for _, notice := range client.Notices {
		kind, prefix := warningType(notice.Warning)
		b.warnings.addClient(kind, client.Index, "%s%s", prefix, notice.Message)
	}
}
