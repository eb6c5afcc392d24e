package result

import (
	"strings"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
)

// Thresholds of the warnings.
const (
	// Clients whose first I/O is further apart than the larger of the two warn StartSkew. The
	// throughput is not touched by it: it counts the common window only.
	maxStartSkew      = 500 * time.Millisecond
	maxStartSkewShare = 0.02
	// maxClockUncertainty is how badly a clock may be known.
	maxClockUncertainty = 50 * time.Millisecond
	// maxThrottledShare of the cgroup's periods.
	maxThrottledShare = 0.05
	// maxSubmissionShare of the whole latency.
	maxSubmissionShare = 0.10
	// minCoverage of the measured time by samples.
	minCoverage = 0.98
	// maxByteDifference between samples and the tool's own total.
	maxByteDifference = 0.05

	maxWarnings      = 32
	maxMessageLength = 1024
)

// judgeLatency warns of what a distribution cannot say.
func (b *builder) judgeLatency(operation measure.Operation, lat *measure.Latency, submissionNanoseconds float64) {
	summary := lat.Summary()
	if len(summary.TooFewSamples) > 0 {
		b.warn(v1alpha1.WarningTooFewSamples, nil, "%s: %d samples are too few for %s",
			operation, summary.Count, strings.Join(summary.TooFewSamples, ", "))
	}
	if summary.CountInLastBucket > 0 {
		b.warn(v1alpha1.WarningLatencyClipped, nil, "%s: %d operations took 17 s or longer; only the maximum says how long",
			operation, summary.CountInLastBucket)
	}
	if mean := float64(summary.MeanNanoseconds); mean > 0 && submissionNanoseconds > maxSubmissionShare*mean {
		b.warn(v1alpha1.WarningSubmissionBlocks, nil, "%s: submitting takes %s of the latency: the queue is not as deep as asked for",
			operation, measure.FormatShare(submissionNanoseconds/mean))
	}
}

// judgeTool warns of what the clients noticed, and of how the load was made.
func (b *builder) judgeTool() {
	versions := map[string]bool{}
	for _, client := range b.usable {
		index := []int32{int32(client.Index)} //nolint:gosec // The API allows far fewer clients.
		for _, notice := range client.Notices {
			b.warn(v1alpha1.WarningType(notice.Warning), index, "client %d: %s", client.Index, notice.Message)
		}
		if client.ClockUncertainty > maxClockUncertainty {
			b.warn(v1alpha1.WarningClockUncertain, index, "the clock of client %d is known to %s only",
				client.Index, client.ClockUncertainty.Round(time.Millisecond))
		}
		if client.UnwrittenBytes > 0 && b.traits.Reads {
			b.warn(v1alpha1.WarningUnwrittenDataRead, index,
				"client %d: %s in the reach of its reads were never written, and are read without touching the storage",
				client.Index, measure.FormatBytes(client.UnwrittenBytes))
		}
		versions[client.ToolVersion] = true
	}
	if len(versions) > 1 {
		b.warn(v1alpha1.WarningToolVersionsDiffer, nil, "the clients run %d versions of the tool", len(versions))
	}
	if b.traitsErr == nil && b.traits.Buffered && b.traits.Writes && !b.traits.SyncsAtEnd {
		b.warn(v1alpha1.WarningDirtyPages, nil,
			"writes go to the page cache and are not flushed in the measured time: set direct, or fsync.atEnd")
	}
	b.judgeBytes()
}

// judgeBytes compares the live samples with the tool's own total.
func (b *builder) judgeBytes() {
	for i, client := range b.usable {
		var sampled, total float64
		measured := b.measuredCounters(i)
		for _, operation := range measure.Operations {
			sampled += float64(measured[operation].Bytes)
			total += float64(client.Operations[operation].Bytes)
		}
		if total > 0 && (sampled < total*(1-maxByteDifference) || sampled > total*(1+maxByteDifference)) {
			b.warn(v1alpha1.WarningBytesUncertain, []int32{int32(client.Index)}, //nolint:gosec // As above.
				"client %d: its samples add up to %s, the tool's own total is %s", client.Index,
				measure.FormatBytes(uint64(sampled)), measure.FormatBytes(uint64(total)))
		}
	}
}

// measuredCounters is what the samples of a client hold, without the warm-up.
func (b *builder) measuredCounters(i int) [measure.NumOperations]measure.Counter {
	span, ok := b.series[i].Span()
	if !ok {
		return [measure.NumOperations]measure.Counter{}
	}
	return b.series[i].CountersIn(span)
}
