package result

import (
	"errors"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
)

const (
	// maxStartSkew limits the time between the first client's and the last client's first I/O; maxStartSkewShare limits
	// this time as a share of the common window. The result has a StartSkew warning if the time exceeds both limits. The
	// throughput is not affected, because only the common window counts.
	maxStartSkew      = 500 * time.Millisecond
	maxStartSkewShare = 0.02
	// minCoverage is the minimum share of the common window that each client's samples must cover.
	minCoverage = 0.98
)

// throughput computes the rates of a time-bound or a work-bound step.
func (b *builder) throughput() {
	if len(b.usable) == 0 {
		return
	}
	for _, one := range b.series {
		if span, ok := one.Span(); ok {
			b.result.MeasuredNanoseconds = measure.Clamp(measure.Sum(uint64(b.result.MeasuredNanoseconds), uint64(span.Nanoseconds()))) //nolint:gosec // Neither is negative.
		}
	}
	var err error
	if b.step.WorkBound() {
		if err = b.workBound(); err == nil {
			b.repetitionRates()
		}
	} else {
		err = b.timeBound()
	}
	switch {
	case errors.Is(err, measure.ErrNoCommonWindow):
		b.warnings.add(v1alpha1.WarningCommonWindowTooShort, nil, "%s never ran at the same time",
			measure.FormatCount(len(b.usable), "client"))
	case err != nil:
		b.warnings.add(v1alpha1.WarningResultIncomplete, nil, "%s", err)
	}
}

func (b *builder) timeBound() error {
	measured, err := measure.MeasureTimeBound(b.loaded)
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
		b.warnings.add(v1alpha1.WarningWindowsDiffer, nil, "clients overlapped for only %s of the measured time",
			measure.FormatShare(measured.Share))
	case measure.WindowsInvalid:
		b.warnings.add(v1alpha1.WarningCommonWindowTooShort, nil, "clients overlapped for only %s of the measured time",
			measure.FormatShare(measured.Share))
	}
	if measured.Coverage < minCoverage {
		b.warnings.add(v1alpha1.WarningSamplesLost, nil,
			"samples of one client cover only %s of the common window, so the computed throughput is too low",
			measure.FormatShare(measured.Coverage))
	}
	b.syncRate()
	return nil
}

// syncRate computes the rate of syncs for tools that report them only at the end. Each client's syncs are assumed to
// be evenly spread over its measured time.
func (b *builder) syncRate() {
	rate := &b.rates[measure.Sync]
	if rate.Operations > 0 {
		return
	}
	for i := range b.usable {
		if span, ok := b.series[i].Span(); ok {
			rate.OperationsPerSecond += float64(b.usable[i].Operations[measure.Sync].Operations) / span.Seconds()
		}
	}
}

// workBound computes the rates from the tools' own totals, over the time from the first start to the last end. The
// samples provide only the times.
func (b *builder) workBound() error {
	measured, err := measure.MeasureWorkBound(b.series)
	if err != nil {
		return err
	}
	seconds := measured.Window.Seconds()
	for _, operation := range measure.Operations {
		rate := &b.rates[operation]
		for i := range b.usable {
			rate.Bytes = measure.Sum(rate.Bytes, b.usable[i].Operations[operation].Bytes)
			rate.Operations = measure.Sum(rate.Operations, b.usable[i].Operations[operation].Operations)
		}
		rate.BytesPerSecond = float64(rate.Bytes) / seconds
		rate.OperationsPerSecond = float64(rate.Operations) / seconds
	}
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
		b.warnings.add(v1alpha1.WarningStartSkew, nil, "the clients' first I/O was up to %s apart",
			time.Duration(nanoseconds).Round(time.Millisecond))
	}
}

func (b *builder) spread(rates []measure.Rates) {
	if len(b.unsampled) > 0 {
		// The rate of a client that runs the ranks of others includes their I/O, so omit the rates of individual clients.
		return
	}
	b.each = rates
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
		BytesPerSecond: measure.Round(value.Value),
	}
}
