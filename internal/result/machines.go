package result

import (
	"cmp"
	"strconv"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
)

// maxThrottledShare is the largest share of throttled cgroup periods without a warning.
const maxThrottledShare = 0.05

// machine holds the clients that ran on one machine.
type machine struct {
	clients     []int
	memoryBytes uint64
	busy, wall  time.Duration
	cpuMilli    int64
}

// machines groups the clients by machine. A client that does not report its machine is assumed to be alone, because
// sharing must not be reported without evidence.
func (b *builder) machines() []*machine {
	known := map[string]*machine{}
	var all []*machine
	for i := range len(b.usable) + len(b.unsampled) {
		client := b.sharing(i)
		name := cmp.Or(client.Machine, "client "+strconv.Itoa(client.Index))
		m := known[name]
		if m == nil {
			m = &machine{}
			known[name] = m
			all = append(all, m)
		}
		m.clients = append(m.clients, client.Index)
		m.memoryBytes = max(m.memoryBytes, client.MemoryBytes)
		m.busy += client.CPU.Busy
		m.wall = max(m.wall, client.CPU.Wall)
		m.cpuMilli = max(m.cpuMilli, client.MachineCPUMilli)
	}
	return all
}

// sharing returns the client with index i in the list of all clients that may share a machine: first the clients that
// have samples, then those without samples of their own.
func (b *builder) sharing(i int) *Client {
	if i < len(b.usable) {
		return &b.usable[i]
	}
	return &b.unsampled[i-len(b.usable)]
}

// judgeMachines adds warnings about the machines of the clients, such as shared machines, CPU throttling, CPU
// saturation and the page cache.
func (b *builder) judgeMachines() {
	all := b.machines()
	b.judgeSharing(all)
	b.judgeThrottling()
	b.cpuUse(all)
	b.judgeSaturation(all)
	b.judgePageCache(all)
}

func (b *builder) judgeSharing(machines []*machine) {
	var sharing []int
	shared, most := 0, 0
	for _, m := range machines {
		if len(m.clients) > 1 {
			sharing = append(sharing, m.clients...)
			shared++
			most = max(most, len(m.clients))
		}
	}
	switch {
	case shared == 1:
		b.warnings.add(v1alpha1.WarningClientsShareNode, sharing, "%d clients ran on one machine and shared its CPU, memory and network", most)
	case shared > 1:
		b.warnings.add(v1alpha1.WarningClientsShareNode, sharing,
			"%d clients shared the CPU, memory and network of %d machines (up to %d clients per machine)", len(sharing), shared, most)
	}
}

func (b *builder) judgeThrottling() {
	var throttled worst
	var longest time.Duration
	for i := range len(b.usable) + len(b.unsampled) {
		client := b.sharing(i)
		if client.CPU.Periods == 0 {
			continue
		}
		share := float64(client.CPU.ThrottledPeriods) / float64(client.CPU.Periods)
		if most := permille(min(share, 1)); most > 0 && (b.result.ThrottledPermille == nil || most > *b.result.ThrottledPermille) {
			b.result.ThrottledPermille = &most
		}
		if share <= maxThrottledShare {
			continue
		}
		throttled.add(client.Index, min(share, 1))
		if throttled.client == client.Index {
			longest = client.CPU.Throttled
		}
	}
	if len(throttled.clients) > 0 {
		b.warnings.add(v1alpha1.WarningClientCPUThrottled, throttled.clients,
			"client %d was throttled by its CPU limit in %s of the periods, for %s in total: raise the limit%s",
			throttled.client, measure.FormatShare(throttled.figure), longest.Round(time.Millisecond), throttled.others())
	}
}

// cpuUse records the CPU usage of the busiest client, or of the busiest machine if that is higher.
func (b *builder) cpuUse(machines []*machine) {
	if b.load.SpansClients {
		return // MPI ranks are busy even while they wait for each other, so their CPU usage is not recorded
	}
	most := 0.0
	for i := range b.usable {
		share, _ := saturation(b.usable[i].CPU.Busy, b.usable[i].CPU.Wall, b.usableCPU(&b.usable[i]))
		most = max(most, share)
	}
	for _, m := range machines {
		share, _ := saturation(m.busy, m.wall, m.cpuMilli)
		most = max(most, share)
	}
	if used := permille(min(most, 1)); used > 0 {
		b.result.ClientCPUPermille = &used
	}
}

// usableCPU returns how much CPU a client's tool can use, in thousandths of a CPU. Each job is one thread, which cannot
// use more than one CPU.
func (b *builder) usableCPU(client *Client) int64 {
	if b.measured && b.described.Jobs > 0 {
		return min(client.CPU.LimitMilli, int64(b.described.Jobs)*1000)
	}
	return client.CPU.LimitMilli
}

// judgeSaturation warns if a client used most of the CPU that its tool can use, or if all clients of a machine together
// used most of the machine's CPUs.
func (b *builder) judgeSaturation(machines []*machine) {
	if b.load.SpansClients {
		return // MPI ranks are busy even while they wait, so a busy CPU is no evidence that the CPU is the limit
	}
	var own worst
	for i := range b.usable {
		cpu := b.usable[i].CPU
		if share, saturated := saturation(cpu.Busy, cpu.Wall, b.usableCPU(&b.usable[i])); saturated {
			own.add(b.usable[i].Index, share)
		}
	}
	if len(own.clients) > 0 {
		b.warnings.add(v1alpha1.WarningClientCPUSaturated, own.clients,
			"the tool of client %d used %s of the CPU that its jobs can use: the tool may be the limit, not the storage%s",
			own.client, measure.FormatShare(own.figure), own.others())
		return
	}
	var together worst
	var clients []int
	for i, m := range machines {
		if share, saturated := saturation(m.busy, m.wall, m.cpuMilli); saturated {
			together.add(i, share)
			clients = append(clients, m.clients...)
		}
	}
	if len(clients) > 0 {
		busiest := machines[together.client].clients
		b.warnings.add(v1alpha1.WarningClientCPUSaturated, clients,
			"the tools of %s together used %s of their machine's CPU: the tools may be the limit, not the storage",
			clientNames(busiest), measure.FormatShare(together.figure))
	}
}

func saturation(busy, wall time.Duration, cpuMilli int64) (share float64, saturated bool) {
	allowed := float64(wall) * float64(cpuMilli) / 1000
	if !(allowed > 0) {
		return 0, false
	}
	share = float64(busy) / allowed
	return share, share >= measure.SaturatedShare
}

func (b *builder) judgePageCache(machines []*machine) {
	cached := b.described.Cached
	if !b.measured || cached.Why == "" {
		return
	}
	var clients []int
	var dataset, memory uint64
	for _, m := range machines {
		bytes := (b.described.ClientBytes - b.described.UnusedBytes) * uint64(len(m.clients))
		if m.memoryBytes == 0 || bytes >= m.memoryBytes {
			continue
		}
		if len(clients) == 0 {
			dataset, memory = bytes, m.memoryBytes
		}
		clients = append(clients, m.clients...)
	}
	if len(clients) > 0 {
		b.warnings.add(v1alpha1.WarningPageCacheSuspected, clients, "%s a client's machine (%s) fits in its memory (%s): %s",
			cached.Why, measure.FormatBytes(dataset), measure.FormatBytes(memory), cached.Remedy)
	}
}
