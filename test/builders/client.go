package builders

import (
	"slices"
	"strconv"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/result"
)

// Start is the time at which the clients of a step are released, and their load starts unless a test delays it.
var Start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// ClientBuilder builds the report of a client on a step.
type ClientBuilder struct {
	client  result.Client
	samples []measure.Sample
	at      time.Duration
}

// Client returns a builder for a client that ended normally without doing any I/O, on its own machine with two CPUs.
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

// Obj returns the client.
func (b *ClientBuilder) Obj() result.Client { return b.client }

// Mutate applies a change for which the builder has no method.
func (b *ClientBuilder) Mutate(change func(*result.Client)) *ClientBuilder {
	change(&b.client)
	return b
}

// MutateSamples replaces the samples with the result of a function.
func (b *ClientBuilder) MutateSamples(change func([]measure.Sample) []measure.Sample) *ClientBuilder {
	MutateSamples(&b.client, change)
	b.samples = slices.Collect(b.client.Samples)
	return b
}

// MutateSamples does the same for a client that is already built. It has no effect on a client without samples.
func MutateSamples(client *result.Client, change func([]measure.Sample) []measure.Sample) {
	if client.Samples != nil {
		client.Samples = slices.Values(change(slices.Collect(client.Samples)))
	}
}

// ShiftSamples shifts the times of a client's samples.
func ShiftSamples(client *result.Client, by time.Duration) {
	MutateSamples(client, func(samples []measure.Sample) []measure.Sample {
		for i := range samples {
			samples[i].StartNanoseconds += int64(by)
			samples[i].EndNanoseconds += int64(by)
		}
		return samples
	})
}

// Later leaves a gap without samples.
func (b *ClientBuilder) Later(by time.Duration) *ClientBuilder {
	b.at += by
	return b
}

// WarmUp adds warm-up samples of one second each.
func (b *ClientBuilder) WarmUp(seconds int, operation measure.Operation, each measure.Counter) *ClientBuilder {
	for range seconds {
		b.sample(time.Second, true, operation, each)
	}
	return b
}

// Does adds samples of one second each, with the same operations in each of them, and counts them in the totals. Each
// operation takes latency.
func (b *ClientBuilder) Does(seconds int, operation measure.Operation, each measure.Counter, latency time.Duration) *ClientBuilder {
	for range seconds {
		b.Sample(time.Second, operation, each, latency)
	}
	return b
}

// Also adds another operation to every existing sample outside the warm-up, and to the totals.
func (b *ClientBuilder) Also(operation measure.Operation, each measure.Counter, latency time.Duration) *ClientBuilder {
	for i := range b.samples {
		if sample := &b.samples[i]; !sample.WarmUp {
			sample.Counters[operation] = each
			b.Total(operation, each, latency)
		}
	}
	return b
}

// Sample adds one sample of any length, and counts it in the totals.
func (b *ClientBuilder) Sample(length time.Duration, operation measure.Operation, counter measure.Counter, latency time.Duration) *ClientBuilder {
	b.sample(length, false, operation, counter)
	return b.Total(operation, counter, latency)
}

// Total adds operations to the totals, but not to the samples.
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

// Lost makes the client lost: it neither ended nor reported totals.
func (b *ClientBuilder) Lost(message string) *ClientBuilder {
	b.client.Ended = false
	b.client.Operations = [measure.NumOperations]result.Operation{}
	b.client.Failure, b.client.FailureMessage = v1alpha1.ReasonClientLost, message
	return b
}

// Failed makes the client's tool fail.
func (b *ClientBuilder) Failed(reason, message string) *ClientBuilder {
	b.client.Failure, b.client.FailureMessage = reason, message
	return b
}

// Refused makes the client fail before it starts the step's load.
func (b *ClientBuilder) Refused(reason, message string) *ClientBuilder {
	b.client.Ended = false
	return b.Failed(reason, message)
}

// Stopped marks the client as stopped early. It keeps its figures.
func (b *ClientBuilder) Stopped(message string) *ClientBuilder {
	b.client.Stopped, b.client.StopMessage = true, message
	return b
}

// Notice adds a warning from the agent.
func (b *ClientBuilder) Notice(warning, message string) *ClientBuilder {
	b.client.Notices = append(b.client.Notices, result.Notice{Warning: warning, Message: message})
	return b
}

// On sets the machine on which the client ran.
func (b *ClientBuilder) On(machine string) *ClientBuilder {
	b.client.Machine = machine
	return b
}

// CPU sets the CPU time that the client used, the time over which it was measured, and its CPU limit.
func (b *ClientBuilder) CPU(busy, wall time.Duration, limitMilli int64) *ClientBuilder {
	b.client.CPU.Busy, b.client.CPU.Wall, b.client.CPU.LimitMilli = busy, wall, limitMilli
	return b
}

// Counter returns a counter of operations of the same size.
func Counter(operations, bytesEach uint64) measure.Counter {
	return measure.Counter{Bytes: operations * bytesEach, Operations: operations}
}
