package limits

import (
	"fmt"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// provisionerIdentity is an attribute of every volume that a CSI driver created.
const provisionerIdentity = "storage.kubernetes.io/csiProvisionerIdentity"

// azureSKU returns the SKU of a disk or share. If neither the volume nor its StorageClass names a SKU, a volume that
// the driver created has the driver's default SKU, and the SKU of a manually created volume is unknown.
func (v Volume) azureSKU(byDefault string) (sku string, known bool) {
	sku, known = v.parameter("skuName", "storageAccountType")
	if !known && (v.Parameters != nil || v.Attributes[provisionerIdentity] != "") {
		return byDefault, true
	}
	return sku, known
}

// azureDisk resolves an Azure disk. If the driver created the volume, the volume contains all parameters of its
// StorageClass. The size of the volume determines the tier.
func azureDisk(v Volume, c *Catalog) resolved {
	sku, known := v.azureSKU("StandardSSD_LRS")
	if !known {
		return unidentified("the disk type is unknown, because neither the volume nor a StorageClass specifies it; set documented.preset, such as azure-disk/p30")
	}
	found := resolved{complete: true}
	kind, _, _ := strings.Cut(strings.ToLower(sku), "_")
	switch kind {
	case "premiumv2":
		found.rows = []string{"azure-disk/premium-v2"}
	case "ultrassd":
		found.rows = []string{"azure-disk/ultra"}
	case "premium", "standardssd":
		if v.CapacityBytes <= 0 {
			return unidentified("the disk's tier is unknown, because its size is unknown; set documented.preset, such as azure-disk/p30")
		}
		row, fits := c.azureTier(kind, v)
		if !fits {
			return unidentified(fmt.Sprintf("no tier of %s in the catalog is large enough for %s; set documented.throughput and documented.iops", sku, in(float64(v.CapacityBytes), "GiB")))
		}
		found.rows = []string{row}
	default:
		return unidentified(fmt.Sprintf("the catalog has no disk type %.40q; set documented.throughput and documented.iops", sku))
	}
	if set, on := v.hostCache(); on {
		found.cached = true
		found.notes = append(found.notes, fmt.Sprintf("cachingMode is %s: reads served from the host's cache can exceed the limits of the disks", set))
	}
	return found
}

// azureDisks is the name of the CSI driver for Azure disks. The host of a client's machine may cache these disks.
const azureDisks = "disk.csi.azure.com"

// hostCache returns the cachingMode of an Azure disk, and whether the host caches the disk in this mode. The default
// mode depends on the kind of disk.
func (v Volume) hostCache() (mode string, on bool) {
	if v.CapacityBytes >= 4<<40 {
		return "None", false // Azure caches no disk of 4 TiB or more, so the CSI driver ignores cachingMode
	}
	mode = "ReadOnly" // the CSI driver's default caching mode
	kind, _, _ := strings.Cut(strings.ToLower(v.given("StandardSSD_LRS", "skuName", "storageAccountType")), "_")
	if kind == "premiumv2" || kind == "ultrassd" {
		mode = "None"
	}
	mode = v.given(mode, "cachingMode")
	return mode, !strings.EqualFold(mode, "None")
}

// HostCache returns the mode in which the host of the client's machine caches a volume. It returns false if the host
// does not cache the volume, or if the mode is unknown.
func HostCache(recorded v1alpha1.VolumeDescription) (mode string, on bool) {
	if recorded.Driver != azureDisks || recorded.StorageClassGone && len(recorded.Parameters) == 0 {
		return "", false
	}
	return Volume{Parameters: recorded.Parameters, CapacityBytes: recorded.SizeBytes}.hostCache()
}

// azureTier returns the row of the smallest tier that holds the volume. Tiers up to 512 GiB have neither performance
// plus nor on-demand bursting: they burst with credits.
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

// azureFiles resolves an Azure file share by the SKU of its storage account. Only the parameters of the v2 billing
// model contain the provisioned figures.
func azureFiles(v Volume, _ *Catalog) resolved {
	sku, known := v.azureSKU("Standard_LRS")
	if !known {
		return unidentified("the share type is unknown, because neither the volume nor a StorageClass specifies it; set documented.preset, such as azure-files/ssd-v1, and documented.capacity")
	}
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
		return unidentified(fmt.Sprintf("shares of type %.40q are pay-as-you-go: the catalog has no limits for them, and they have no burst; set documented.throughput and documented.iops", sku))
	}
	if _, set := v.mountOption("max_channels"); !set && strings.EqualFold(v.given("false", "enableMultichannel"), "true") {
		found.notes = append(found.notes, "the account allows several channels, but the mount uses one: add max_channels to the mount options")
	}
	return found
}
