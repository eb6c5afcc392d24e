package result

import (
	"cmp"
	"slices"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
)

// machine is the clients that ran on one.
type machine struct {
	clients     []int32
	memoryBytes uint64
	busy, wall  time.Duration
	limitMilli  int64
}

// judgeMachines warns of what the clients' own machines did to the figures.
func (b *builder) judgeMachines() {
	machines := map[string]*machine{}
	var names []string
	for _, client := range b.usable {
		m := machines[client.Machine]
		if m == nil {
			m = &machine{}
			machines[client.Machine] = m
			names = append(names, client.Machine)
		}
		m.clients = append(m.clients, int32(client.Index)) //nolint:gosec // The API allows far fewer clients.
		m.memoryBytes = client.MemoryBytes
		m.busy += client.CPU.Busy
		m.wall = max(m.wall, client.CPU.Wall)
		m.limitMilli = max(m.limitMilli, client.CPU.LimitMilli)
		b.judgeThrottling(client)
	}
	for _, name := range names {
		b.judgeMachine(machines[name])
	}
}

func (b *builder) judgeThrottling(client Client) {
	if client.CPU.Periods == 0 {
		return
	}
	if share := float64(client.CPU.ThrottledPeriods) / float64(client.CPU.Periods); share > maxThrottledShare {
		b.warn(v1alpha1.WarningClientCPUThrottled, []int32{int32(client.Index)}, //nolint:gosec // As above.
			"client %d was held back by its CPU limit in %s of the time, %s in all: raise the limit",
			client.Index, measure.FormatShare(share), client.CPU.Throttled.Round(time.Millisecond))
	}
}

func (b *builder) judgeMachine(m *machine) {
	slices.SortFunc(m.clients, cmp.Compare[int32])
	listed := m.clients[:min(len(m.clients), 16)]
	if len(m.clients) > 1 {
		b.warn(v1alpha1.WarningClientsShareNode, listed,
			"%d clients ran on one machine and shared its CPU, memory and network", len(m.clients))
	}
	if allowed := float64(m.wall) * float64(m.limitMilli) / 1000; allowed > 0 {
		if share := float64(m.busy) / allowed; share >= measure.SaturatedShare {
			b.warn(v1alpha1.WarningClientCPUSaturated, listed,
				"the tool used %s of the CPU: it, and not the storage, may be the limit", measure.FormatShare(share))
		}
	}
	dataset := b.traits.DatasetBytes * uint64(len(m.clients))
	if b.traitsErr == nil && b.traits.Reads && b.traits.Buffered && m.memoryBytes > 0 && dataset < m.memoryBytes {
		b.warn(v1alpha1.WarningPageCacheSuspected, listed,
			"the reads are not direct and the data (%s) fits in the machine's memory (%s)",
			measure.FormatBytes(dataset), measure.FormatBytes(m.memoryBytes))
	}
}
