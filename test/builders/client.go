package builders

import (
	"slices"
	"strconv"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/result"
)

// Start is when the clients of tests begin, unless they say otherwise.
var Start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// ClientBuilder builds what a client reported of a step.
type ClientBuilder struct {
	client  result.Client
	samples []measure.Sample
	at      time.Duration
}

// Client ended well and has done nothing yet. It runs on a machine of its own with two CPUs.
func Client(target string, index int) *ClientBuilder {
	return &ClientBuilder{client: result.Client{
		Target:          target,
		Index:           index,
		Released:        Start,
		Ended:           true,
		ToolVersion:     "fio-3.33",
		Machine:         "machine-" + target + "-" + strconv.Itoa(index),
		MemoryBytes:     8 << 30,
		MachineCPUMilli: 2000,
	}}
}

// Obj is the client.
func (b *ClientBuilder) Obj() result.Client { return b.client }

// Mutate changes what no method of the builder does.
func (b *ClientBuilder) Mutate(change func(*result.Client)) *ClientBuilder {
	change(&b.client)
	return b
}

// MutateSamples changes the samples.
func (b *ClientBuilder) MutateSamples(change func([]measure.Sample) []measure.Sample) *ClientBuilder {
	MutateSamples(&b.client, change)
	b.samples = slices.Collect(b.client.Samples)
	return b
}

// MutateSamples changes the samples of a client that has some.
func MutateSamples(client *result.Client, change func([]measure.Sample) []measure.Sample) {
	if client.Samples != nil {
		client.Samples = slices.Values(change(slices.Collect(client.Samples)))
	}
}

// ShiftSamples moves the samples of a client by a time.
func ShiftSamples(client *result.Client, by time.Duration) {
	MutateSamples(client, func(samples []measure.Sample) []measure.Sample {
		for i := range samples {
			samples[i].StartNanoseconds += int64(by)
			samples[i].EndNanoseconds += int64(by)
		}
		return samples
	})
}

// Later lets time pass in which nothing is sampled.
func (b *ClientBuilder) Later(by time.Duration) *ClientBuilder {
	b.at += by
	return b
}

// WarmUp adds a second of load that is not measured, for each second.
func (b *ClientBuilder) WarmUp(seconds int, operation measure.Operation, each measure.Counter) *ClientBuilder {
	for range seconds {
		b.sample(time.Second, true, operation, each)
	}
	return b
}

// Does adds a sample a second, in each of which as much is done of an operation, and counts it in
// the totals. Each operation took latency.
func (b *ClientBuilder) Does(seconds int, operation measure.Operation, each measure.Counter, latency time.Duration) *ClientBuilder {
	for range seconds {
		b.Sample(time.Second, operation, each, latency)
	}
	return b
}

// Also does as much of another operation in each second that is there and measured.
func (b *ClientBuilder) Also(operation measure.Operation, each measure.Counter, latency time.Duration) *ClientBuilder {
	for i := range b.samples {
		if sample := &b.samples[i]; !sample.WarmUp {
			sample.Counters[operation] = each
			b.Total(operation, each, latency)
		}
	}
	return b
}

// Sample adds one sample of any length.
func (b *ClientBuilder) Sample(length time.Duration, operation measure.Operation, counter measure.Counter, latency time.Duration) *ClientBuilder {
	b.sample(length, false, operation, counter)
	return b.Total(operation, counter, latency)
}

// Total counts operations in the totals only.
func (b *ClientBuilder) Total(operation measure.Operation, counter measure.Counter, latency time.Duration) *ClientBuilder {
	total := &b.client.Operations[operation]
	total.Bytes += counter.Bytes
	total.Operations += counter.Operations
	total.Latency.AddNanoseconds(uint64(latency), counter.Operations) // #nosec G115 -- positive
	if operation != measure.Sync {
		total.Completion.AddNanoseconds(uint64(latency-latency/100), counter.Operations) // #nosec G115 -- positive
		if before := total.Operations - counter.Operations; total.Operations > 0 {
			total.SubmissionMeanNanoseconds = int64((uint64(total.SubmissionMeanNanoseconds)*before + uint64(latency/100)*counter.Operations) / total.Operations) // #nosec G115 -- as above
		}
	}
	return b
}

func (b *ClientBuilder) sample(length time.Duration, warmUp bool, operation measure.Operation, counter measure.Counter) {
	start := Start.Add(b.at)
	b.at += length
	end := Start.Add(b.at)
	sample := measure.Sample{StartNanoseconds: start.UnixNano(), EndNanoseconds: end.UnixNano(), WarmUp: warmUp}
	sample.Counters[operation] = counter
	b.samples = append(b.samples, sample)
	b.client.Samples = slices.Values(b.samples)
	if warmUp {
		return
	}
	if b.client.IOStart.IsZero() {
		b.client.IOStart = start
	}
	b.client.IOEnd = end
}

// Lost takes the client's end and result away.
func (b *ClientBuilder) Lost(message string) *ClientBuilder {
	b.client.Ended = false
	b.client.Operations = [measure.NumOperations]result.Operation{}
	b.client.Failure, b.client.FailureMessage = v1alpha1.ReasonClientLost, message
	return b
}

// Failed lets the client's tool have failed.
func (b *ClientBuilder) Failed(reason, message string) *ClientBuilder {
	b.client.Failure, b.client.FailureMessage = reason, message
	return b
}

// Refused is a client that could not load the step.
func (b *ClientBuilder) Refused(reason, message string) *ClientBuilder {
	b.client.Ended = false
	return b.Failed(reason, message)
}

// Stopped lets the client have ended before its time, with what it had.
func (b *ClientBuilder) Stopped(message string) *ClientBuilder {
	b.client.Stopped, b.client.StopMessage = true, message
	return b
}

// Notice adds a warning of the agent.
func (b *ClientBuilder) Notice(warning, message string) *ClientBuilder {
	b.client.Notices = append(b.client.Notices, result.Notice{Warning: warning, Message: message})
	return b
}

// On sets the machine that the client ran on.
func (b *ClientBuilder) On(machine string) *ClientBuilder {
	b.client.Machine = machine
	return b
}

// CPU sets what the client's tool used.
func (b *ClientBuilder) CPU(busy, wall time.Duration, limitMilli int64) *ClientBuilder {
	b.client.CPU.Busy, b.client.CPU.Wall, b.client.CPU.LimitMilli = busy, wall, limitMilli
	return b
}

// Counter is a number of operations of that many bytes each.
func Counter(operations, bytesEach uint64) measure.Counter {
	return measure.Counter{Bytes: operations * bytesEach, Operations: operations}
}
