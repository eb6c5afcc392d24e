package limits

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// declare adds the limits that the specification writes out.
func (made *Computed) declare(declared *v1alpha1.Limits) {
	if declared == nil {
		return
	}
	for _, one := range []struct {
		name      string
		dimension Dimension
		of        *v1alpha1.RateLimits
	}{{"limits.throughput", Bytes, declared.Throughput}, {"limits.iops", Operations, declared.IOPS}} {
		if one.of == nil {
			continue
		}
		limit := Limit{Name: one.name, Layer: LayerVolume, Dimension: one.dimension, Units: 1, CachedReadsPass: true,
			Baseline: plain(one.of.Baseline), Burst: plain(one.of.Burst), Bucket: plain(one.of.Bucket), Refill: plain(one.of.Refill)}
		unit := plainUnit(byteRate)
		if one.dimension == Operations {
			unit = plainUnit(operationRate)
		}
		if limit.Baseline == 0 { // only the burst is written
			limit.Baseline, limit.Burst = limit.Burst, 0
		}
		if limit.Baseline == 0 {
			continue
		}
		limit.Arithmetic = in(limit.Baseline, unit) + ", as the specification says"
		if limit.Burst <= limit.Baseline {
			limit.Burst, limit.Bucket, limit.Refill = 0, 0, 0
		} else {
			limit.BurstArithmetic = in(limit.Burst, unit) + ", as the specification says"
			if limit.Bucket > 0 && limit.Refill == 0 {
				limit.Refill = limit.Baseline
			}
		}
		made.add(limit)
	}
	if declared.ServerMemory != nil {
		made.Cache = Cache{Bytes: plain(declared.ServerMemory), Arithmetic: in(plain(declared.ServerMemory), "GiB") + ", as the specification says"}
	}
}

func plain(of *resource.Quantity) float64 {
	if of == nil {
		return 0
	}
	return max(0, of.AsApproximateFloat64())
}

// machineUse is how the machines reach the storage.
type machineUse struct {
	traffic      traffic
	flowsPerNode int
	cached       bool
}

// prefixes of the rows of machines.
const (
	ec2Row   = "aws-ec2/"
	azureRow = "azure-vm/"
	flowRow  = "aws-ec2/flow"
)

// machines adds the limits of the client nodes and of their connections.
func (made *Computed) machines(c *Catalog, d Description, use machineUse) {
	if use.traffic == anyTraffic {
		if len(d.Clients) > 0 {
			made.lack(Missing{presetField, "whether the storage is reached over the network or as a disk is not known, so that the limits of the machines are not"})
		}
		return
	}
	if len(d.Clients) == 0 {
		made.lack(Missing{"the instance type of the client nodes", "the machines of the clients are not known (there are no nodes yet, or they have no label node.kubernetes.io/instance-type), so that their limits are not"})
		return
	}
	// The limits of some of the machines are not those of all: one that is not known leaves all out.
	all := true
	for _, machines := range d.Clients {
		if _, known := c.machine(machines.Type); !known {
			all = false
			made.lack(Missing{"a row of the instance type", fmt.Sprintf("the catalog has no instance type %.60q, so that the limits of the machines are not known; add a row %s%s or %s%s to the catalog's ConfigMap", machines.Type, ec2Row, machines.Type, azureRow, machines.Type)})
		}
	}
	if !all {
		return
	}
	for _, machines := range d.Clients {
		key, _ := c.machine(machines.Type)
		if !made.machine(c.rows[key], machines, use) {
			made.lack(Missing{"limits of the instance type", fmt.Sprintf("the catalog's row %s has no limit of what passes to this kind of storage", key)})
		}
	}
	made.flows(c, d.Clients, use)
}

// nothing is known of a machine but its type.
var nothing = environment{parameter: func(string) (string, bool) { return "", false }}

// machine adds the limits of one type of nodes that apply to the traffic at hand.
func (made *Computed) machine(of row, machines Machines, use machineUse) (found bool) {
	for _, limit := range of.limits {
		if limit.traffic != use.traffic && !(limit.traffic == cachedTraffic && use.cached) {
			continue
		}
		computed, missing := limit.compute(nothing, units{count: machines.Nodes, each: "nodes"})
		if missing != nil {
			made.lack(*missing)
			continue
		}
		found = true
		computed.CachedReadsPass = limit.passed && use.cached
		computed.from(of)
		made.add(*computed)
	}
	return found
}

// flows adds the limit of the connections, where their number is known for all machines.
func (made *Computed) flows(c *Catalog, machines []Machines, use machineUse) {
	of, known := c.rows[flowRow]
	if !known || use.traffic != fileTraffic {
		return
	}
	count, ours := 0, true
	for _, some := range machines {
		key, _ := c.machine(some.Type)
		each := some.FlowsPerNode
		if each == 0 {
			each = use.flowsPerNode
		}
		if !strings.HasPrefix(key, ec2Row) {
			return
		}
		ours = ours && each > 0
		count += each * max(1, some.Nodes)
	}
	computed, missing := of.limits[0].compute(nothing, units{count: choose(ours, count, 1), each: "flows"})
	if missing == nil && !ours {
		missing = &Missing{"the number of connections a node", "how many connections a node has to the storage is not known, so that the limit of all of them is not; one alone is limited to " + computed.Arithmetic}
	}
	if missing != nil {
		made.lack(*missing)
		return
	}
	computed.from(of)
	computed.Note = of.note
	made.add(*computed)
}

// machine is the row of an instance type.
func (c *Catalog) machine(instance string) (string, bool) {
	for _, prefix := range []string{ec2Row, azureRow} {
		if _, known := c.rows[prefix+instance]; known && prefix+instance != flowRow {
			return prefix + instance, true
		}
	}
	return "", false
}
