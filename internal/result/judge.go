package result

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine"
	"github.com/storagebench/storagebench/internal/measure"
)

// Thresholds for warnings.
const (
	// maxClockUncertainty is the largest clock uncertainty without a warning.
	maxClockUncertainty = 50 * time.Millisecond
	// maxSubmissionShare is the largest share of the mean latency that submission may take without a warning.
	maxSubmissionShare = 0.10
	// maxFlush limits the time that clients may take to flush their files after a timed load; maxFlushShare limits this
	// time as a share of the common window. The result has a warning if the time exceeds both limits.
	maxFlush      = time.Second
	maxFlushShare = 0.05
)

// judgeLatency warns if a latency distribution has too few samples, no histogram or clipped values, and if submitting
// the operation takes a large share of the latency.
func (b *builder) judgeLatency(operation measure.Operation, lat *measure.Latency, submissionNanoseconds float64) {
	summary := lat.Summary()
	if len(summary.TooFewSamples) > 0 {
		b.warnings.add(v1alpha1.WarningTooFewSamples, nil, "%s: %s are too few for %s", operation,
			measure.FormatCount(int(min(summary.Count, 1<<31)), "sample"), percentiles(summary.TooFewSamples))
	}
	if summary.Count > 0 && lat.Histogram.Count() == 0 {
		b.warnings.add(v1alpha1.WarningTooFewSamples, nil, "%s: the tool reported no histogram, so there are no percentiles", operation)
	}
	if summary.CountInLastBucket > 0 {
		b.warnings.add(v1alpha1.WarningLatencyClipped, nil, "%s: %s took 17 s or longer; only the maximum shows how long",
			operation, measure.FormatCount(int(min(summary.CountInLastBucket, 1<<31)), "operation"))
	}
	if mean := float64(summary.MeanNanoseconds); mean > 0 && submissionNanoseconds > maxSubmissionShare*mean {
		b.warnings.add(v1alpha1.WarningSubmissionBlocks, nil,
			"%s: submission accounts for %s of the latency, so the queue is not as deep as requested",
			operation, measure.FormatShare(min(submissionNanoseconds/mean, 1)))
	}
	if p50 := summary.P50Nanoseconds; operation == measure.Stat && p50 != nil && *p50 < cachedStatNanoseconds {
		b.warnings.add(v1alpha1.WarningPageCacheSuspected, nil,
			"half of the stat operations took at most %s: the clients answered them from cached attributes", measure.FormatLatency(*p50))
	}
}

// cachedStatNanoseconds is the threshold for the median time of a stat. A lower median means that the clients answered
// stats from cached attributes, because no other machine or process can answer that quickly.
const cachedStatNanoseconds = 5000

// percentiles formats names of percentiles for readers: p999 as p99.9.
func percentiles(names []string) string {
	var written []string
	for _, name := range names {
		if len(name) > len("p99") {
			name = name[:len("p99")] + "." + name[len("p99"):]
		}
		written = append(written, name)
	}
	return strings.Join(written, ", ")
}

// judgeTool warns about problems with the clients' clocks, data and tool versions, and with how the load was generated.
func (b *builder) judgeTool() {
	versions := map[string]int{}
	var clock, unwritten worst
	var mostUnwritten uint64
	for i := range b.usable {
		client := &b.usable[i]
		if client.ClockUncertainty > maxClockUncertainty {
			clock.add(client.Index, float64(client.ClockUncertainty))
		}
		if client.UnwrittenBytes > 0 {
			unwritten.add(client.Index, float64(client.UnwrittenBytes))
			mostUnwritten = max(mostUnwritten, client.UnwrittenBytes)
		}
		if !b.load.SpansClients {
			versions[client.ToolVersion]++
		}
	}
	if len(clock.clients) > 0 {
		b.warnings.add(v1alpha1.WarningClockUncertain, clock.clients, "the clock of client %d is uncertain by %s%s",
			clock.client, time.Duration(clock.figure).Round(time.Millisecond), clock.others())
	}
	if len(unwritten.clients) > 0 {
		b.warnings.add(v1alpha1.WarningUnwrittenDataRead, unwritten.clients,
			"%s in the range that client %d reads were never written; such reads need no access to the storage%s",
			measure.FormatBytes(mostUnwritten), unwritten.client, unwritten.others())
	}
	if len(versions) > 1 {
		b.warnings.add(v1alpha1.WarningToolVersionsDiffer, nil, "the clients run different versions of the tool: %s", versionList(versions))
	}
	b.judgeFlush()
	b.judgeBytes()
}

// judgeFlush warns if buffered writes were not flushed in the measured time. A flush at the end is part of the measured
// time if the amount of work is fixed. The rates of a timed load exclude the flush, so the flush must be short.
func (b *builder) judgeFlush() {
	if !b.measured || b.load.SpansClients || !b.described.Dirty {
		return
	}
	if !b.described.SyncsAtEnd {
		b.warnings.add(v1alpha1.WarningDirtyPages, nil,
			"writes go to the page cache and are not flushed in the measured time: set direct, or fsync.atEnd")
		return
	}
	if b.result.InFlightNanoseconds == nil {
		return
	}
	flush := time.Duration(*b.result.InFlightNanoseconds) - b.slowestRead()
	if flush > max(maxFlush, time.Duration(maxFlushShare*float64(b.result.WindowNanoseconds))) {
		b.warnings.add(v1alpha1.WarningDirtyPages, nil,
			"writes go to the page cache, and flushing them took at least %s after the load ended: set direct, or measure for longer",
			flush.Round(100*time.Millisecond))
	}
}

// slowestRead returns the longest latency of any read. Reads in flight at the end of the load take no longer, and the
// flush starts after them.
func (b *builder) slowestRead() time.Duration {
	var slowest uint64
	for i := range b.usable {
		slowest = max(slowest, b.usable[i].Operations[measure.Read].Latency.MaxNanoseconds)
	}
	return time.Duration(measure.Clamp(slowest))
}

func versionList(versions map[string]int) string {
	var list []string
	for _, version := range slices.Sorted(maps.Keys(versions)) {
		list = append(list, fmt.Sprintf("%s on %d", cmp.Or(version, "an unknown version"), versions[version]))
	}
	return strings.Join(list, ", ")
}

// judgeBytes warns if the sum of a client's live samples and the total that its tool reported differ.
func (b *builder) judgeBytes() {
	if b.load.Opaque {
		// The I/O of an opaque load, such as a user's program, is not known in advance. Its samples and its total come
		// from different sources, so the engine compares them instead.
		return
	}
	var apart worst
	var message string
	for i := range b.usable {
		client := &b.usable[i]
		var sampled, total uint64
		span, _ := b.series[i].Span()
		for operation, counter := range b.series[i].CountersIn(span) {
			sampled = measure.Sum(sampled, counter.Bytes)
			total = measure.Sum(total, client.Operations[operation].Bytes)
		}
		low, high := float64(min(sampled, total)), float64(max(sampled, total))
		if high == 0 || low >= high*(1-engine.MaxByteDifference) {
			continue
		}
		apart.add(client.Index, 1-low/high)
		if apart.client == client.Index {
			message = fmt.Sprintf("the samples of client %d add up to %s, but the tool's own total is %s", client.Index,
				measure.FormatBytes(sampled), measure.FormatBytes(total))
		}
	}
	if len(apart.clients) > 0 {
		b.warnings.add(v1alpha1.WarningBytesUncertain, apart.clients, "%s%s", message, apart.others())
	}
}
