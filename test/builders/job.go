package builders

import (
	"time"

	"github.com/storagebench/storagebench/internal/engine"
	"github.com/storagebench/storagebench/internal/measure"
)

// Rank adds samples of one second each, without latencies, like those of MPI ranks.
func (b *ClientBuilder) Rank(seconds int, operation measure.Operation, each measure.Counter) *ClientBuilder {
	for range seconds {
		b.sample(time.Second, false, operation, each)
		total := &b.client.Operations[operation]
		total.Bytes += each.Bytes
		total.Operations += each.Operations
	}
	return b
}

// IORJob adds the figures that IOR itself reports: consecutive repetitions of the given length and bytes, from Start
// on. Only client 0 of a job reports them.
func (b *ClientBuilder) IORJob(ranks, clients int, operation measure.Operation, count int, length time.Duration, bytes uint64) *ClientBuilder {
	job := &engine.Job{
		CommandLine: []string{"ior", "-a", "POSIX", "-t", "1m", "-b", "16m", "-s", "1", "-F", "-w", "-o", "ior.data"},
		Ranks:       ranks, Clients: clients, MPIVersion: "4.1.4",
	}
	for index := range count {
		job.Repetitions = append(job.Repetitions, engine.Repetition{
			Operation: operation, Index: index, Bytes: bytes, BytesExact: true, BytesPerSecond: float64(bytes) / length.Seconds(),
			OperationsPerSecond: float64(bytes>>20) / length.Seconds(), Open: length / 100, Transfer: length * 97 / 100, Close: length / 50, Total: length,
			Ended: Start.Add(time.Duration(index+1) * length),
		})
	}
	b.client.Job, b.client.ToolVersion = job, "4.0.0"
	return b
}

// MdtestJob adds the figures that mdtest itself reports. Only client 0 of a job reports them.
func (b *ClientBuilder) MdtestJob(ranks, clients int) *ClientBuilder {
	b.client.ToolVersion = "4.0.0"
	b.client.Job = &engine.Job{
		CommandLine: []string{"mdtest", "-n", "100", "-w", "4096", "-u", "-i", "1", "-d", "mdtest"}, Ranks: ranks, Clients: clients, MPIVersion: "4.1.4",
		Rates: []engine.JobRate{
			{Operation: "File creation", Max: 5230.1234, Min: 4800, Mean: 5000.5, StandardDeviation: 150.25},
			{Operation: "File stat", Max: 91000, Min: 90000, Mean: 90500, StandardDeviation: 500},
			{Operation: "Tree removal", Max: 12.5, Min: 12.5, Mean: 12.5},
		},
	}
	return b
}
