package result

import (
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
func Target(step plan.Step, target string, clients []Client, remarks ...Remark) v1alpha1.TargetResult {
	b := builder{step: step, clients: clients}
	b.result.Target = target
	b.result.WorkBound = step.WorkBound()
	if engine := step.Workloads[target]; engine != nil {
		b.describe(engine.Fio)
	}
	for _, remark := range remarks {
		b.warnings.addClient(remark.Warning, remark.Client, "%s", remark.Message)
	}
	b.judgeClients()
	b.throughput()
	b.operations()
	b.judgeTool()
	b.judgeMachines()
	if step.Kind == v1alpha1.PhaseSteady && len(b.usable) > 0 {
		b.result.SteadyState = &v1alpha1.SteadyStateResult{}
		b.warnings.add(v1alpha1.WarningNotAssessed, nil, "this version does not judge whether the rate was steady")
	}
	b.result.Warnings = b.warnings.list(step.Kind)
	return b.result
}

// builder collects one target's result.
type builder struct {
	step    plan.Step
	clients []Client
	// traits of the load; those of the workload do not hold while its files are laid out.
	traits   fio.Traits
	measured bool
	// usable are the clients with a result, and series their samples.
	usable   []Client
	series   []*measure.Series
	rates    measure.Rates
	result   v1alpha1.TargetResult
	warnings warnings
}

// describe finds out what the load was like. The plan has done so before the run, so that a
// workload which cannot be described comes from a record that somebody has changed.
func (b *builder) describe(profile *v1alpha1.FioProfile) {
	traits, err := fio.Describe(profile)
	if err != nil {
		b.warnings.add(v1alpha1.WarningToolMessages, nil, "whether a cache took part was not judged: %s", err)
		return
	}
	b.traits, b.measured = traits, b.step.Purpose == plan.Measure
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
			continue
		}
		series, refused, err := seriesOf(client.Samples)
		if err != nil {
			b.warnings.addClient(v1alpha1.WarningResultIncomplete, client.Index, "its samples cannot be: %s", err)
			continue
		}
		if refused > 0 {
			b.warnings.addClient(v1alpha1.WarningSamplesLost, client.Index, "samples with impossible times were left out")
		}
		if _, measured := series.Span(); !measured {
			b.judgeNoSamples(client)
			continue
		}
		b.usable = append(b.usable, *client)
		b.series = append(b.series, series)
	}
	b.result.Clients = int32(len(b.usable)) //nolint:gosec // The API allows far fewer clients.
}

// judgeEnd says whether the client ended with a result.
func (b *builder) judgeEnd(client *Client) bool {
	switch {
	case !client.Ended && client.Failure == v1alpha1.ReasonClientLost:
		b.warnings.addClient(v1alpha1.WarningClientLost, client.Index, "%s", client.FailureMessage)
	case !client.Ended && client.Failure != "":
		b.warnings.addClient(v1alpha1.WarningResultIncomplete, client.Index, "took no part: %s: %s", client.Failure, client.FailureMessage)
	case !client.Ended:
		b.warnings.addClient(v1alpha1.WarningResultIncomplete, client.Index, "reported no end")
	case client.Failure != "":
		b.warnings.addClient(v1alpha1.WarningToolError, client.Index, "%s: %s", client.Failure, client.FailureMessage)
	default:
		if client.Stopped {
			b.warnings.addClient(v1alpha1.WarningResultIncomplete, client.Index, "stopped before its time: %s", client.StopMessage)
		}
		return true
	}
	return false
}

// judgeNoSamples is a client with an end of which nothing is known over time. It cannot be part of
// a rate, so it is no part of the result, and the result is not what was asked for.
func (b *builder) judgeNoSamples(client *Client) {
	for _, operation := range client.Operations {
		if operation.Operations > 0 {
			b.warnings.addClient(v1alpha1.WarningResultIncomplete, client.Index,
				"there are no samples of its measured time, so its figures are left out")
			return
		}
	}
	b.warnings.addClient(v1alpha1.WarningNoOperations, client.Index, "completed nothing in the measured time")
}

func (b *builder) judgeNotices(client *Client) {
	for _, notice := range client.Notices {
		kind, prefix := warningType(notice.Warning)
		b.warnings.addClient(kind, client.Index, "%s%s", prefix, notice.Message)
	}
}
