package limits

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// resolved is the result of identifying a volume: its catalog rows, and how to evaluate them.
type resolved struct {
	rows    []string
	traffic traffic
	// cached is true if the cache of the machine's host may serve reads.
	cached bool
	// compressed is true if the store compresses the data.
	compressed bool
	// flowsPerNode is the number of network connections of each node; 0 if it is not known.
	flowsPerNode int
	// complete is true if absent parameters are known to have the driver's defaults.
	complete bool
	// parameters holds values that take precedence over the volume's own parameters, which may have a different format.
	parameters map[string]string
	missing    []Missing
	notes      []string
}

// unidentified returns a result without rows, which reports documented.preset as missing. `what` tells the user why the
// volume cannot be identified, and what to set.
func unidentified(what string) resolved { return resolved{missing: []Missing{{presetField, what}}} }

// driver describes how machines reach the volumes of a CSI driver, and how to identify the volumes.
type driver struct {
	traffic traffic
	find    func(Volume, *Catalog) resolved
}

// drivers maps the names of CSI drivers to their descriptions.
var drivers = map[string]driver{
	"fsx.csi.aws.com":         {fileTraffic, lustre},
	"smb.csi.k8s.io":          {fileTraffic, smb},
	"disk.csi.azure.com":      {blockTraffic, azureDisk},
	"file.csi.azure.com":      {fileTraffic, azureFiles},
	"ebs.csi.aws.com":         {blockTraffic, ebs},
	"efs.csi.aws.com":         {fileTraffic, efs},
	"fsx.openzfs.csi.aws.com": {fileTraffic, openZFS},
}

// presetField is the API field that names a preset or a row.
const presetField = "documented.preset"

// resolve identifies a volume by its driver, and returns the volume's catalog rows.
func (c *Catalog) resolve(v Volume) resolved {
	by, known := drivers[v.Driver]
	if v.Driver == "" {
		return unidentified("the volume has no CSI driver, so its limits cannot be discovered; set documented.preset, or documented.throughput and documented.iops")
	}
	if !known {
		return unidentified(fmt.Sprintf("the catalog has no CSI driver %q; set documented.preset, or documented.throughput and documented.iops", v.Driver))
	}
	found := by.find(v, c)
	found.traffic, found.flowsPerNode = by.traffic, flowsOf(v)
	return found
}

// preset returns the catalog rows of the named preset. If the name is the key of a row, it returns only that row.
func (c *Catalog) preset(name string, v Volume) (resolved, error) {
	rows, known := c.presets[name]
	if _, isRow := c.rows[name]; isRow {
		rows, known = []string{name}, true
	}
	if !known {
		return resolved{}, &UnknownPresetError{Preset: name, Remedy: "does not exist in the catalog of limits; " + c.similarPresets(name) + "; or set documented.throughput and documented.iops"}
	}
	return resolved{rows: rows, traffic: c.trafficOf(v, rows), flowsPerNode: flowsOf(v)}, nil
}

// trafficOf returns the kind of traffic between a machine and a volume. The volume's driver determines the kind. For an
// unknown driver, the catalog rows determine it: rows of EBS and of Azure disks mean block traffic, and other rows with
// a network limit mean file traffic. trafficOf returns anyTraffic if the kind is not known.
func (c *Catalog) trafficOf(v Volume, rows []string) traffic {
	if by, known := drivers[v.Driver]; known {
		return by.traffic
	}
	for _, key := range rows {
		switch {
		case strings.HasPrefix(key, "aws-ebs/") || strings.HasPrefix(key, "azure-disk/"):
			return blockTraffic
		case slices.ContainsFunc(c.rows[key].limits, func(l limitRow) bool { return l.layer == LayerNetwork }):
			return fileTraffic
		}
	}
	return anyTraffic
}

// flowsOf returns the number of connections of one node, or 0 if it is not known.
func flowsOf(v Volume) int {
	switch v.Driver {
	case "smb.csi.k8s.io":
		return v.connections("max_channels")
	case "file.csi.azure.com":
		return max(v.connections("max_channels"), v.connections("nconnect"))
	case "fsx.openzfs.csi.aws.com":
		return v.connections("nconnect")
	}
	return 0
}

// environment returns the values from which the figures of a volume's row are computed.
func (r resolved) environment(v Volume, of row) environment {
	made := environment{capacityBytes: float64(v.CapacityBytes), complete: r.complete, parameter: func(name string) (string, bool) {
		if value, found := r.parameters[name]; found {
			return value, value != ""
		}
		return v.parameter(name)
	}}
	// Some vendors sell capacity only in multiples of a size such as 1,200 GiB, and call that size 1.2 TiB. Their TiB
	// is therefore 1,000 GiB.
	if of.soldIn > 0 && made.capacityBytes > 0 && math.Mod(made.capacityBytes, of.soldIn) == 0 {
		made.terabytes = made.capacityBytes / gibibyte / 1000
	}
	return made
}
