package limits

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// resolved is what a volume was found to be: rows of the catalog, and how to reckon with them.
type resolved struct {
	rows    []string
	traffic traffic
	// cached tells that reads may be answered by the cache of the machine's host.
	cached bool
	// compressed tells that the store compresses what is written.
	compressed bool
	// flowsPerNode is 0 where it is not known.
	flowsPerNode int
	// complete tells that a parameter which is absent has its default.
	complete   bool
	parameters map[string]string // in place of those of the volume, where they are written in another form
	missing    []Missing
	notes      []string
}

// lacking is a volume that has to be named first.
func lacking(what string) resolved { return resolved{missing: []Missing{{presetField, what}}} }

// driver of a kind of volume: how it is reached, and what a volume of it is.
type driver struct {
	traffic traffic
	find    func(Volume, *Catalog) resolved
}

// drivers by their CSI name.
var drivers = map[string]driver{
	"fsx.csi.aws.com":         {fileTraffic, lustre},
	"smb.csi.k8s.io":          {fileTraffic, smb},
	"disk.csi.azure.com":      {blockTraffic, azureDisk},
	"file.csi.azure.com":      {fileTraffic, azureFiles},
	"ebs.csi.aws.com":         {blockTraffic, ebs},
	"efs.csi.aws.com":         {fileTraffic, efs},
	"fsx.openzfs.csi.aws.com": {fileTraffic, openZFS},
}

// presetField is the field of the API that names rows.
const presetField = "limits.preset"

// resolve finds the rows of a volume by its driver.
func (c *Catalog) resolve(v Volume) resolved {
	by, known := drivers[v.Driver]
	if v.Driver == "" {
		return lacking("the volume is of no CSI driver, so that nothing can be found out about it; name an entry of the catalog, or write the limits themselves, in limits.throughput and limits.iops")
	}
	if !known {
		return lacking(fmt.Sprintf("the CSI driver %q is not in the catalog; name an entry, or write the limits themselves, in limits.throughput and limits.iops", v.Driver))
	}
	found := by.find(v, c)
	found.traffic, found.flowsPerNode = by.traffic, flowsOf(v)
	return found
}

// preset finds the rows of a name.
func (c *Catalog) preset(name string, v Volume) (resolved, error) {
	rows, known := c.presets[name]
	if _, isRow := c.rows[name]; isRow {
		rows, known = []string{name}, true
	}
	if !known {
		return resolved{}, &UnknownPresetError{Preset: name, Remedy: "is not in the catalog of limits; " + c.alike(name) + "; or write the limits themselves, in limits.throughput and limits.iops"}
	}
	return resolved{rows: rows, traffic: c.reached(v, rows), flowsPerNode: flowsOf(v)}, nil
}

// reached is how a machine reaches a volume: by its driver, else by its rows. What has a network is reached over
// one. It is empty where nobody can tell.
func (c *Catalog) reached(v Volume, rows []string) traffic {
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

// flowsOf is the number of connections of one node, 0 where nobody can tell.
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

// environment of the rows of a volume.
func (r resolved) environment(v Volume, of row) environment {
	made := environment{capacityBytes: float64(v.CapacityBytes), complete: r.complete, parameter: func(name string) (string, bool) {
		if value, found := r.parameters[name]; found {
			return value, value != ""
		}
		return v.parameter(name)
	}}
	// What is sold in steps of, say, 1,200 GiB is called 1.2 TiB by those who sell it.
	if of.soldIn > 0 && made.capacityBytes > 0 && math.Mod(made.capacityBytes, of.soldIn) == 0 {
		made.terabytes = made.capacityBytes / gibibyte / 1000
	}
	return made
}
