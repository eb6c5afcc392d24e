package result

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine/fio"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
)

// SampleInterval is how far apart the tool's live samples are meant to be.
const SampleInterval = time.Second

// Target makes the result of one target in a step, of what its clients reported. It never fails:
// what is missing or wrong is a warning of the result.
func Target(step plan.Step, target string, clients []Client) v1alpha1.TargetResult {
	b := builder{step: step, clients: clients}
	b.result.Target = target
	b.result.WorkBound = step.WorkBound()
	b.traits, b.traitsErr = fio.Describe(step.Workloads[target].Fio)
	b.judgeClients()
	b.throughput()
	b.operations()
	b.judgeTool()
	b.judgeMachines()
	if step.Kind == v1alpha1.PhaseSteady {
		b.result.SteadyState = &v1alpha1.SteadyStateResult{}
		b.warn(v1alpha1.WarningNotAssessed, nil, "this version does not judge whether the rate was steady")
	}
	return b.result
}

// builder collects one target's result.
type builder struct {
	step      plan.Step
	clients   []Client
	traits    fio.Traits
	traitsErr error
	// usable are the clients with a result, and series their samples.
	usable []Client
	series []*measure.Series
	rates  measure.Rates
	result v1alpha1.TargetResult
}

// judgeClients sorts out clients without a result.
func (b *builder) judgeClients() {
	for _, client := range b.clients {
		index := []int32{int32(client.Index)} //nolint:gosec // The API allows far fewer clients.
		switch {
		case !client.Ended && client.Failure == "":
			b.warn(v1alpha1.WarningResultIncomplete, index, "client %d reported no end", client.Index)
		case !client.Ended:
			b.warn(v1alpha1.WarningClientLost, index, "client %d: %s", client.Index, client.FailureMessage)
		case client.Failure != "":
			b.warn(v1alpha1.WarningToolError, index, "client %d: %s: %s", client.Index, client.Failure, client.FailureMessage)
		case client.Stopped:
			b.warn(v1alpha1.WarningResultIncomplete, index, "client %d was stopped before its time: %s", client.Index, client.StopMessage)
		}
		if !client.Ended || client.Failure != "" {
			continue
		}
		series, err := measure.NewSeries(measure.MergeLate(client.Samples, int64(SampleInterval)))
		if err != nil {
			b.warn(v1alpha1.WarningSamplesLost, index, "client %d: %s", client.Index, err)
			continue
		}
		b.usable = append(b.usable, client)
		b.series = append(b.series, series)
	}
	b.result.Clients = int32(len(b.usable)) //nolint:gosec // As above.
}

// throughput measures the series, by time or by work.
func (b *builder) throughput() {
	if len(b.usable) == 0 {
		return
	}
	for _, one := range b.series {
		if span, ok := one.Span(); ok {
			b.result.MeasuredNanoseconds += span.Nanoseconds()
		}
	}
	var err error
	if b.step.WorkBound() {
		err = b.workBound()
	} else {
		err = b.timeBound()
	}
	switch {
	case errors.Is(err, measure.ErrNoCommonWindow):
		b.warn(v1alpha1.WarningCommonWindowTooShort, nil, "%s", err)
	case err != nil:
		b.warn(v1alpha1.WarningResultIncomplete, nil, "%s", err)
	}
}

func (b *builder) timeBound() error {
	measured, err := measure.MeasureTimeBound(b.series)
	if err != nil {
		return err
	}
	b.rates = measured.Rates
	b.result.WindowNanoseconds = measured.Window.Nanoseconds()
	b.skew(measured.StartSkewNanoseconds)
	b.spread(measured.Clients)
	switch measured.Verdict {
	case measure.WindowsAgree:
	case measure.WindowsDiffer:
		b.warn(v1alpha1.WarningWindowsDiffer, nil, "the time common to all clients is %s of one client's own",
			measure.FormatShare(measured.Share))
	case measure.WindowsInvalid:
		b.warn(v1alpha1.WarningCommonWindowTooShort, nil, "the time common to all clients is only %s of one client's own",
			measure.FormatShare(measured.Share))
	}
	if measured.Coverage < minCoverage {
		b.warn(v1alpha1.WarningSamplesLost, nil, "samples cover %s of the measured time: the throughput is too low by as much",
			measure.FormatShare(measured.Coverage))
	}
	return nil
}

func (b *builder) workBound() error {
	measured, err := measure.MeasureWorkBound(b.series)
	if err != nil {
		return err
	}
	b.rates = measured.Rates
	b.result.WindowNanoseconds = measured.Window.Nanoseconds()
	b.result.TailNanoseconds = &measured.TailNanoseconds
	b.skew(measured.StartSkewNanoseconds)
	b.spread(measured.Clients)
	return nil
}

func (b *builder) skew(nanoseconds int64) {
	b.result.StartSkewNanoseconds = &nanoseconds
	allowed := max(int64(maxStartSkew), int64(maxStartSkewShare*float64(b.result.WindowNanoseconds)))
	if nanoseconds > allowed {
		b.warn(v1alpha1.WarningStartSkew, nil, "the clients' first I/O was up to %s apart",
			time.Duration(nanoseconds).Round(time.Millisecond))
	}
}

func (b *builder) spread(rates []measure.Rates) {
	values := make([]float64, len(rates))
	for i := range rates {
		values[i] = rates[i].BytesPerSecond()
	}
	spread, ok := measure.SpreadOf(values)
	if !ok {
		return
	}
	b.result.ClientSpread = &v1alpha1.ClientSpread{
		Best:   b.clientRate(spread.Best),
		Median: b.clientRate(spread.Median),
		Worst:  b.clientRate(spread.Worst),
	}
}

func (b *builder) clientRate(value measure.ClientValue) v1alpha1.ClientRate {
	return v1alpha1.ClientRate{
		Client:         int32(b.usable[value.Client].Index), //nolint:gosec // The API allows far fewer clients.
		BytesPerSecond: int64(math.Round(value.Value)),
	}
}

// warn adds a warning, with the severity that it has in this phase.
func (b *builder) warn(kind v1alpha1.WarningType, clients []int32, format string, arguments ...any) {
	if len(b.result.Warnings) >= maxWarnings {
		return
	}
	b.result.Warnings = append(b.result.Warnings, v1alpha1.Warning{
		Type:     kind,
		Severity: kind.Severity(b.step.Kind),
		Message:  v1alpha1.Truncate(fmt.Sprintf(format, arguments...), maxMessageLength),
		Clients:  clients,
	})
}
