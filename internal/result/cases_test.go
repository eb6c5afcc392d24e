package result_test

import (
	"slices"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/test/builders"
)

type targetCase struct {
	benchmark *builders.BenchmarkBuilder
	clients   []result.Client
	remarks   []result.Remark
	// warnings must come first, in this order. The golden file shows any others.
	warnings []v1alpha1.WarningType
}

// short lists the warnings that every short write phase with one client has.
var short = []v1alpha1.WarningType{v1alpha1.WarningNotAssessed, v1alpha1.WarningTooFewSamples}

var targetCases = map[string]func() targetCase{
	"time-bound": func() targetCase {
		return targetCase{benchmark: writing(), clients: objects(writer(0), writer(1), writer(2)), warnings: short}
	},
	"time-bound-offset": func() targetCase {
		// One client starts 300 ms late: only 9.7 s are common, and both ends of the common window fall within samples.
		return targetCase{benchmark: writing(), clients: objects(writer(0),
			builders.Client("data", 1).Later(300*ms).WarmUp(2, measure.Write, hundred).Does(10, measure.Write, hundred, 20*ms)), warnings: short}
	},
	"work-bound": func() targetCase {
		return targetCase{benchmark: layingOut(), clients: objects(
			builders.Client("data", 0).Does(8, measure.Write, hundred, 10*ms),
			builders.Client("data", 1).Does(10, measure.Write, hundred, 10*ms)),
			warnings: []v1alpha1.WarningType{v1alpha1.WarningTooFewSamples}}
	},
	"work-bound-samples-lost": func() targetCase {
		// Half of the samples are lost, but the tool's own totals include everything written.
		lossy := builders.Client("data", 0).Does(8, measure.Write, hundred, 10*ms).MutateSamples(func(all []measure.Sample) []measure.Sample {
			return slices.Delete(all, 2, 6)
		})
		return targetCase{benchmark: layingOut(), clients: objects(lossy),
			warnings: []v1alpha1.WarningType{v1alpha1.WarningTooFewSamples, v1alpha1.WarningBytesUncertain}}
	},
	"mixed": func() targetCase {
		return targetCase{benchmark: reading(builders.Fio().ReadPercent(70)), clients: objects(
			builders.Client("data", 0).Does(10, measure.Read, builders.Counter(700, 65536), 3*ms).
				Also(measure.Write, builders.Counter(300, 65536), 5*ms)),
			warnings: short}
	},
	"lost": func() targetCase {
		return targetCase{benchmark: writing(), clients: objects(writer(0), writer(1).Lost("its process exited: signal: killed")),
			warnings: []v1alpha1.WarningType{v1alpha1.WarningClientLost}}
	},
	"replaced": func() targetCase {
		return targetCase{benchmark: writing(), clients: objects(writer(0), writer(1)),
			remarks:  []result.Remark{{Warning: v1alpha1.WarningClientReplaced, Client: 1, Message: "it was lost and replaced"}},
			warnings: []v1alpha1.WarningType{v1alpha1.WarningNotAssessed, v1alpha1.WarningClientReplaced}}
	},
	"stopped": func() targetCase {
		return targetCase{benchmark: writing(), clients: objects(
			builders.Client("data", 0).WarmUp(2, measure.Write, hundred).Does(4, measure.Write, hundred, 10*ms).Stopped("the command received the signal: interrupt"),
			builders.Client("data", 1).WarmUp(2, measure.Write, hundred).Does(4, measure.Write, hundred, 10*ms).Stopped("the command received the signal: interrupt")),
			warnings: []v1alpha1.WarningType{v1alpha1.WarningResultIncomplete}}
	},
	"failed": func() targetCase {
		return targetCase{benchmark: writing(), clients: objects(writer(0),
			writer(1).Failed("NoSpace", "fio: the volume is full (job data: No space left on device)"),
			builders.Client("data", 2).Refused("NoSpace", "there is too little free space")),
			warnings: []v1alpha1.WarningType{v1alpha1.WarningToolError, v1alpha1.WarningResultIncomplete}}
	},
	"no-end": func() targetCase {
		return targetCase{benchmark: writing(), clients: objects(writer(0).Mutate(func(c *result.Client) { c.Ended = false })),
			warnings: []v1alpha1.WarningType{v1alpha1.WarningResultIncomplete}}
	},
	"no-client": func() targetCase {
		return targetCase{benchmark: writing(), warnings: []v1alpha1.WarningType{v1alpha1.WarningResultIncomplete}}
	},
	"late-samples": func() targetCase {
		// A dump was 1.6 s late. Its sample contains 100 MiB, and the next one the remaining 200 MiB of these three seconds.
		late := builders.Client("data", 0).Does(4, measure.Write, hundred, 10*ms).
			Sample(2600*ms, measure.Write, builders.Counter(100, mebibyte), 10*ms).
			Sample(400*ms, measure.Write, builders.Counter(200, mebibyte), 10*ms).
			Does(3, measure.Write, hundred, 10*ms)
		// The other client ends within the last sample of this one, so the end of the common window is interpolated.
		other := builders.Client("data", 1).Does(9, measure.Write, hundred, 10*ms).Sample(750*ms, measure.Write, builders.Counter(75, mebibyte), 10*ms)
		return targetCase{benchmark: writing(), clients: objects(late, other), warnings: short}
	},
	"windows-differ": func() targetCase {
		return targetCase{benchmark: writing(), clients: objects(writer(0), writer(1).Mutate(func(c *result.Client) { builders.ShiftSamples(c, 900*ms) })),
			warnings: []v1alpha1.WarningType{v1alpha1.WarningStartSkew, v1alpha1.WarningWindowsDiffer}}
	},
	"window-too-short": func() targetCase {
		return targetCase{benchmark: writing(), clients: objects(writer(0), writer(1).Mutate(func(c *result.Client) { builders.ShiftSamples(c, 3*time.Second) })),
			warnings: []v1alpha1.WarningType{v1alpha1.WarningCommonWindowTooShort, v1alpha1.WarningStartSkew}}
	},
	"no-window": func() targetCase {
		return targetCase{benchmark: writing(), clients: objects(writer(0), writer(1).Mutate(func(c *result.Client) { builders.ShiftSamples(c, time.Minute) })),
			warnings: []v1alpha1.WarningType{v1alpha1.WarningCommonWindowTooShort}}
	},
	"gap": func() targetCase {
		return targetCase{benchmark: writing(), clients: objects(writer(0), writer(1).MutateSamples(func(all []measure.Sample) []measure.Sample { return slices.Delete(all, 5, 7) })),
			warnings: []v1alpha1.WarningType{v1alpha1.WarningSamplesLost, v1alpha1.WarningBytesUncertain}}
	},
	"no-samples": func() targetCase {
		return targetCase{benchmark: writing(), clients: objects(writer(0),
			builders.Client("data", 1).Total(measure.Write, hundred, 10*ms), builders.Client("data", 2)),
			warnings: []v1alpha1.WarningType{v1alpha1.WarningNoOperations, v1alpha1.WarningResultIncomplete}}
	},
	"nothing-done": func() targetCase {
		return targetCase{benchmark: writing(), clients: objects(builders.Client("data", 0).Does(10, measure.Write, measure.Counter{}, ms)),
			warnings: []v1alpha1.WarningType{v1alpha1.WarningNoOperations}}
	},
	"throttled": func() targetCase {
		return targetCase{benchmark: writing(), clients: objects(writer(0), throttled(1, 30), throttled(2, 45), throttled(3, 5)),
			warnings: []v1alpha1.WarningType{v1alpha1.WarningClientCPUThrottled}}
	},
	"saturated-alone": func() targetCase {
		// One job is one thread: it is saturated when it uses one of the two CPUs.
		return targetCase{benchmark: writing(), clients: objects(writer(0).CPU(9500*ms, 10*time.Second, 2000)),
			warnings: []v1alpha1.WarningType{v1alpha1.WarningClientCPUSaturated}}
	},
	"saturated-together": func() targetCase {
		var clients []result.Client
		for i := range 4 {
			clients = append(clients, writer(i).On("one").CPU(4700*ms, 10*time.Second, 2000).Obj())
		}
		return targetCase{benchmark: writing(), clients: append(clients, writer(4).CPU(time.Second, 10*time.Second, 2000).Obj()),
			warnings: []v1alpha1.WarningType{v1alpha1.WarningClientsShareNode, v1alpha1.WarningClientCPUSaturated}}
	},
	"not-saturated-with-own-limits": func() targetCase {
		// Four pods with their own CPU limits share a node. Together they use more than one limit, but only about a tenth of
		// the node.
		var clients []result.Client
		for i := range 4 {
			clients = append(clients, writer(i).On("one").CPU(4700*ms, 10*time.Second, 1000).Mutate(func(c *result.Client) { c.MachineCPUMilli = 16000 }).Obj())
		}
		return targetCase{benchmark: writing(), clients: clients, warnings: []v1alpha1.WarningType{v1alpha1.WarningClientsShareNode, v1alpha1.WarningNotAssessed}}
	},
	"unknown-machines": func() targetCase {
		return targetCase{benchmark: writing(), clients: objects(writer(0).On(""), writer(1).On("")), warnings: short}
	},
	"page-cache": func() targetCase {
		reader := func(i int) *builders.ClientBuilder {
			return builders.Client("data", i).On("one").Does(10, measure.Read, hundred, ms)
		}
		return targetCase{benchmark: reading(builders.Fio().Buffered().Reads()), clients: objects(reader(0), reader(1)),
			warnings: []v1alpha1.WarningType{v1alpha1.WarningClientsShareNode, v1alpha1.WarningPageCacheSuspected}}
	},
	"larger-than-memory": func() targetCase {
		reader := builders.Client("data", 0).Does(10, measure.Read, hundred, ms).Mutate(func(c *result.Client) { c.MemoryBytes = 64 << 20 })
		return targetCase{benchmark: reading(builders.Fio().Buffered().Reads()), clients: objects(reader), warnings: short}
	},
	"layout-of-buffered-reads": func() targetCase {
		// A layout reads nothing and is flushed, so it needs no warning about the page cache.
		return targetCase{benchmark: layingOut().Workload(builders.Fio().Buffered().Reads()),
			clients:  objects(builders.Client("data", 0).Does(4, measure.Write, hundred, ms)),
			warnings: []v1alpha1.WarningType{v1alpha1.WarningTooFewSamples}}
	},
	"unwritten": func() targetCase {
		reader := builders.Client("data", 0).Does(10, measure.Read, hundred, ms).Mutate(func(c *result.Client) { c.UnwrittenBytes = 4 << 20 })
		return targetCase{benchmark: reading(builders.Fio().Reads()), clients: objects(reader),
			warnings: []v1alpha1.WarningType{v1alpha1.WarningUnwrittenDataRead}}
	},
	"dirty-pages": func() targetCase {
		return targetCase{benchmark: writing().Workload(builders.Fio().BlockSize("1Mi").Buffered()), clients: objects(writer(0)),
			warnings: []v1alpha1.WarningType{v1alpha1.WarningDirtyPages}}
	},
	"dirty-pages-beside-a-log": func() targetCase {
		const jobFile = "[log]\nrw=write\nfsync=1\nsize=64m\n[bulk]\nrw=write\nbs=1m\nsize=64m\n"
		return targetCase{benchmark: writing().Workload(builders.JobFile(jobFile, "128Mi")), clients: objects(writer(0)),
			warnings: []v1alpha1.WarningType{v1alpha1.WarningDirtyPages}}
	},
	"flushed-at-end": func() targetCase {
		return targetCase{benchmark: writing().Workload(builders.Fio().BlockSize("1Mi").Buffered().FsyncAtEnd()), clients: objects(writer(0)), warnings: short}
	},
	"clipped": func() targetCase {
		return targetCase{benchmark: writing(), clients: objects(writer(0).Total(measure.Write, builders.Counter(3, mebibyte), 20*time.Second)),
			warnings: []v1alpha1.WarningType{v1alpha1.WarningLatencyClipped}}
	},
	"submission-blocks": func() targetCase {
		return targetCase{benchmark: writing(), clients: objects(writer(0).Mutate(func(c *result.Client) {
			c.Operations[measure.Write].SubmissionMeanNanoseconds = int64(4 * ms)
		})), warnings: []v1alpha1.WarningType{v1alpha1.WarningSubmissionBlocks}}
	},
	"fsync": func() targetCase {
		// fio reports syncs only when it ends, so their rate is computed over the measured time.
		client := func(i int) *builders.ClientBuilder {
			return builders.Client("data", i).WarmUp(2, measure.Write, hundred).Does(10, measure.Write, hundred, 10*ms).
				Total(measure.Sync, measure.Counter{Operations: 1000}, 2*ms)
		}
		return targetCase{benchmark: writing().Workload(builders.Fio().BlockSize("1Mi").Buffered().FsyncEvery(1)), clients: objects(client(0), client(1)), warnings: short}
	},
	"fsync-sampled": func() targetCase {
		client := writer(0).Also(measure.Sync, measure.Counter{Operations: 50}, 2*ms)
		return targetCase{benchmark: writing().Workload(builders.Fio().BlockSize("1Mi").Buffered().FsyncEvery(2)), clients: objects(client), warnings: short}
	},
	"trims": func() targetCase {
		return targetCase{benchmark: writing(), clients: objects(builders.Client("data", 0).Does(10, measure.Trim, hundred, ms)), warnings: short}
	},
	"clock-uncertain": func() targetCase {
		return targetCase{benchmark: writing(), clients: objects(writer(0), writer(1).Mutate(func(c *result.Client) { c.ClockUncertainty = 80 * ms })),
			warnings: []v1alpha1.WarningType{v1alpha1.WarningClockUncertain}}
	},
	"versions-differ": func() targetCase {
		return targetCase{benchmark: writing(), clients: objects(writer(0), writer(1), writer(2).Mutate(func(c *result.Client) { c.ToolVersion = "fio-3.36" })),
			warnings: []v1alpha1.WarningType{v1alpha1.WarningToolVersionsDiffer}}
	},
	"notices": func() targetCase {
		return targetCase{benchmark: writing(), clients: objects(
			writer(0).Notice("DirectIONotHonoured", "5 MB of 64 MB are in the page cache").Notice("ToolMessages", "note: both iodepth >= 1 and synchronous I/O engine are selected"),
			writer(1).Notice("ToolMessages", "note: both iodepth >= 1 and synchronous I/O engine are selected"),
			writer(2).Notice("IOStalled", "1 of fio's jobs completed no I/O for 5s")),
			warnings: []v1alpha1.WarningType{v1alpha1.WarningDirectIONotHonoured, v1alpha1.WarningIOStalled}}
	},
	"notices-without-sense": func() targetCase {
		return targetCase{benchmark: writing(), clients: objects(
			writer(0).Notice("", "nobody named it").Notice("lower case", "a name that the API refuses").Notice("FromTheFuture", "a newer agent")),
			warnings: []v1alpha1.WarningType{v1alpha1.WarningToolError, "FromTheFuture"}}
	},
	"jittered-samples": func() targetCase {
		// The jitter separates the end of a sample from the start of the next one: they overlap or leave a gap.
		jitter := writer(0).MutateSamples(func(all []measure.Sample) []measure.Sample {
			for i := range all {
				all[i].StartNanoseconds += int64(i%3-1) * int64(40*time.Microsecond)
			}
			return all
		})
		return targetCase{benchmark: writing(), clients: objects(jitter), warnings: short}
	},
	"clock-set": func() targetCase {
		// The wall clock was set while the client ran, so one sample seems to start 400 ms too early.
		set := writer(0).MutateSamples(func(all []measure.Sample) []measure.Sample {
			all[6].StartNanoseconds -= int64(400 * ms)
			return all
		})
		return targetCase{benchmark: writing(), clients: objects(set), warnings: short}
	},
	"impossible-samples": func() targetCase {
		hostile := writer(0).MutateSamples(func(all []measure.Sample) []measure.Sample {
			return append(all,
				measure.Sample{StartNanoseconds: 5, EndNanoseconds: 1},
				measure.Sample{StartNanoseconds: -1 << 63, EndNanoseconds: 1<<63 - 1})
		})
		return targetCase{benchmark: writing(), clients: objects(hostile), warnings: []v1alpha1.WarningType{v1alpha1.WarningSamplesLost}}
	},
}

func throttled(index int, periods uint64) *builders.ClientBuilder {
	return writer(index).Mutate(func(c *result.Client) {
		c.CPU.Periods, c.CPU.ThrottledPeriods, c.CPU.Throttled = 100, periods, time.Duration(periods)*60*ms
	})
}
