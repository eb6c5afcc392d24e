package limits

import (
	"fmt"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// azureDisk: the volume carries all parameters of its class. The tier follows from the size.
func azureDisk(v Volume, c *Catalog) resolved {
	if v.Parameters == nil && v.Attributes == nil {
		return lacking("the volume does not say what kind of disk it is, and its StorageClass is not there; name it, such as azure-disk/p30")
	}
	sku := v.given("StandardSSD_LRS", "skuName", "storageAccountType")
	found := resolved{complete: true}
	kind, _, _ := strings.Cut(strings.ToLower(sku), "_")
	switch kind {
	case "premiumv2":
		found.rows = []string{"azure-disk/premium-v2"}
	case "ultrassd":
		found.rows = []string{"azure-disk/ultra"}
	case "premium", "standardssd":
		if v.CapacityBytes <= 0 {
			return lacking("the size of the disk is not known, from which its tier follows; name it, such as azure-disk/p30")
		}
		row, fits := c.azureTier(kind, v)
		if !fits {
			return lacking(fmt.Sprintf("no tier of %s in the catalog holds %s", sku, in(float64(v.CapacityBytes), "GiB")))
		}
		found.rows = []string{row}
	default:
		return lacking(fmt.Sprintf("the kind of disk %.40q is not in the catalog; write the limits themselves, in limits.throughput and limits.iops", sku))
	}
	if set, on := v.hostCache(); on {
		found.cached = true
		found.notes = append(found.notes, fmt.Sprintf("cachingMode is %s: reads that the cache of the machine's host answers pass the limits of the disks", set))
	}
	return found
}

// azureDisks is the driver of disks that the machine's host may cache.
const azureDisks = "disk.csi.azure.com"

// hostCache is the cachingMode of a disk that says what kind it is, and whether the machine's host caches it.
func (v Volume) hostCache() (mode string, on bool) {
	mode = "ReadOnly" // the driver's default
	kind, _, _ := strings.Cut(strings.ToLower(v.given("StandardSSD_LRS", "skuName", "storageAccountType")), "_")
	if kind == "premiumv2" || kind == "ultrassd" {
		mode = "None"
	}
	mode = v.given(mode, "cachingMode")
	return mode, !strings.EqualFold(mode, "None")
}

// HostCache is the mode in which the host of the client's machine caches a volume; false where it does not, or nobody
// can tell.
func HostCache(recorded v1alpha1.VolumeDescription) (mode string, on bool) {
	if recorded.Driver != azureDisks || recorded.StorageClassGone && len(recorded.Parameters) == 0 {
		return "", false
	}
	return Volume{Parameters: recorded.Parameters}.hostCache()
}

// azureTier is the smallest tier that holds the volume. Disks of 512 GiB and less have no performance plus,
// and of 512 GiB and less no bursting on demand: their burst is by credits.
func (c *Catalog) azureTier(kind string, v Volume) (string, bool) {
	letter := "p"
	if kind == "standardssd" {
		letter = "e"
	}
	best := ""
	for _, key := range c.Keys() {
		tier, ours := strings.CutPrefix(key, "azure-disk/"+letter)
		if !ours || tier == "" || strings.Trim(tier, "0123456789") != "" || c.rows[key].size < float64(v.CapacityBytes) {
			continue
		}
		if best == "" || c.rows[key].size < c.rows[best].size {
			best = key
		}
	}
	for _, variant := range []struct{ parameter, suffix string }{{"enablePerformancePlus", "-performance-plus"}, {"enableBursting", "-on-demand"}} {
		if _, known := c.rows[best+variant.suffix]; known && strings.EqualFold(v.given("false", variant.parameter), "true") {
			return best + variant.suffix, true
		}
	}
	return best, best != ""
}

// azureFiles: the account's kind decides; what was provisioned is in the parameters of the newer model only.
func azureFiles(v Volume, _ *Catalog) resolved {
	if v.Parameters == nil && v.Attributes == nil {
		return lacking("the volume does not say what kind of share it is, and its StorageClass is not there; name it, such as azure-files/ssd-v1, and limits.capacity")
	}
	sku := v.given("Standard_LRS", "skuName", "storageAccountType")
	found := resolved{complete: true}
	kind, _, _ := strings.Cut(strings.ToLower(sku), "_")
	switch kind {
	case "premium":
		found.rows = []string{"azure-files/ssd-v1"}
	case "premiumv2":
		found.rows = []string{"azure-files/ssd-v2"}
	case "standardv2":
		found.rows = []string{"azure-files/hdd-v2"}
	default:
		return lacking(fmt.Sprintf("a share of the kind %.40q is paid as you go: its limits are not in the catalog, and it has no burst; write the limits themselves, in limits.throughput and limits.iops", sku))
	}
	if _, set := v.mountOption("max_channels"); !set && strings.EqualFold(v.given("false", "enableMultichannel"), "true") {
		found.notes = append(found.notes, "the account allows several channels, but the mount uses one: add max_channels to the mount options")
	}
	return found
}
