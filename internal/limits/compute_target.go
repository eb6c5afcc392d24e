package limits

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// specified is appended to the calculation of a limit whose value comes from the specification.
const specified = ", as specified"

// declare adds the limits that the specification contains. volumes is the number of volumes over which they are
// summed, or 0 if all volumes are on one server.
func (made *Computed) declare(declared *v1alpha1.Limits, volumes int) {
	if declared == nil {
		return
	}
	for _, one := range []struct {
		name      string
		dimension Dimension
		of        *v1alpha1.RateLimits
	}{{"documented.throughput", Bytes, declared.Throughput}, {"documented.iops", Operations, declared.IOPS}} {
		if one.of == nil {
			continue
		}
		limit := Limit{Name: one.name, Layer: LayerVolume, Dimension: one.dimension, Units: max(1, volumes),
			CachedReadsPass: true, Given: true,
			Baseline: plain(one.of.Baseline), Burst: plain(one.of.Burst), Bucket: plain(one.of.Bucket), Refill: plain(one.of.Refill)}
		unit, _ := one.dimension.units()
		if limit.Baseline == 0 { // if the specification sets only a burst, use it as the baseline
			limit.Baseline, limit.Burst = limit.Burst, 0
		}
		if limit.Baseline == 0 {
			continue
		}
		limit.Arithmetic = in(limit.Baseline, unit) + specified
		if limit.Burst <= limit.Baseline {
			limit.Burst, limit.Bucket, limit.Refill = 0, 0, 0
		} else {
			limit.BurstArithmetic = in(limit.Burst, unit) + specified
			if limit.Bucket > 0 && limit.Refill == 0 {
				limit.Refill = limit.Baseline
			}
		}
		made.add(limit)
	}
	if declared.ServerMemory != nil {
		made.Cache = Cache{Bytes: plain(declared.ServerMemory), Arithmetic: in(plain(declared.ServerMemory), "GiB") + specified}
	}
}

func plain(of *resource.Quantity) float64 {
	if of == nil {
		return 0
	}
	return max(0, of.AsApproximateFloat64())
}

// machineUse describes how the machines access the storage.
type machineUse struct {
	traffic      traffic
	flowsPerNode int
	cached       bool
}

// Prefixes of the row keys of machines, and the row key of network connections.
const (
	ec2Row   = "aws-ec2/"
	azureRow = "azure-vm/"
	flowRow  = "aws-ec2/flow"
)

// machines adds the limits of the client nodes and of their connections.
func (made *Computed) machines(c *Catalog, d Description, use machineUse) {
	if use.traffic == anyTraffic {
		if len(d.Clients) > 0 {
			made.addMissing(Missing{presetField, "the limits of the machines are unknown, because the storage may be a network file system or a disk; if a documented.preset fits, set it instead of documented.throughput and documented.iops"})
		}
		return
	}
	if len(d.Clients) == 0 {
		made.addMissing(Missing{"the instance type of the client nodes", "the limits of the clients' machines are unknown, " +
			"because not every client is known to run on a node with the label node.kubernetes.io/instance-type"})
		return
	}
	// Machines of different types have different limits, so one unknown machine makes the limits of all machines
	// unknown.
	all := true
	for _, machines := range d.Clients {
		if _, known := c.machine(machines.Type); !known {
			all = false
			made.addMissing(Missing{"a row for the instance type", fmt.Sprintf("the catalog has no instance type %.60q, so the limits of the machines are unknown; add a row %s%s or %s%s to the catalog's ConfigMap", machines.Type, ec2Row, machines.Type, azureRow, machines.Type)})
		}
	}
	if !all {
		return
	}
	ofVolumes := len(made.Limits)
	for _, machines := range d.Clients {
		key, _ := c.machine(machines.Type)
		if !made.machine(c.rows[key], machines, use) {
			made.addMissing(Missing{"limits of the instance type", fmt.Sprintf("the catalog's row %s has no limit for this kind of storage", key)})
		}
	}
	made.dropPartial(ofVolumes, len(d.Clients), "machines")
	made.flows(c, d.Clients, use)
}

// noEnvironment is used to compute the limits of machines, which do not depend on a capacity or on parameters.
var noEnvironment = environment{parameter: func(string) (string, bool) { return "", false }}

// machine adds the limits of one node type that apply to the traffic.
func (made *Computed) machine(of row, machines Machines, use machineUse) (found bool) {
	for _, limit := range of.limits {
		if limit.traffic != use.traffic && !(limit.traffic == cachedTraffic && use.cached) {
			continue
		}
		computed, missing := limit.compute(noEnvironment, units{count: machines.Nodes, each: "nodes"})
		if missing != nil {
			made.addMissing(*missing)
			continue
		}
		found = true
		computed.CachedReadsPass = limit.passed && use.cached
		computed.from(of)
		made.add(*computed)
	}
	return found
}

// flows adds the limit per network connection if the number of connections is known for all machines.
func (made *Computed) flows(c *Catalog, machines []Machines, use machineUse) {
	of, known := c.rows[flowRow]
	if !known || use.traffic != fileTraffic {
		return
	}
	count, ours := 0, use.flowsPerNode > 0
	for _, some := range machines {
		if key, _ := c.machine(some.Type); !strings.HasPrefix(key, ec2Row) {
			return
		}
		count += use.flowsPerNode * max(1, some.Nodes)
	}
	computed, missing := of.limits[0].compute(noEnvironment, units{count: choose(ours, count, 1), each: "flows"})
	if missing == nil && !ours {
		missing = &Missing{"the number of connections per node", "the number of connections per node is unknown, and so is their total limit; one connection is limited to " + computed.Arithmetic}
	}
	if missing != nil {
		made.addMissing(*missing)
		return
	}
	computed.from(of)
	computed.Note = of.note
	made.add(*computed)
}

// machine returns the key of an instance type's row.
func (c *Catalog) machine(instance string) (string, bool) {
	for _, prefix := range []string{ec2Row, azureRow} {
		if _, known := c.rows[prefix+instance]; known && prefix+instance != flowRow {
			return prefix + instance, true
		}
	}
	return "", false
}
