package limits

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// lustre resolves an FSx for Lustre file system by the deployment type in its StorageClass. The volume itself contains
// only the server's name.
func lustre(v Volume, c *Catalog) resolved {
	if v.Parameters == nil {
		return unidentified("the deployment type of the FSx for Lustre volume is unknown, because its StorageClass does not exist; set documented.preset, such as aws-fsx-lustre/persistent-2-ssd-250, and documented.capacity")
	}
	deployment := strings.ToLower(strings.ReplaceAll(v.given("SCRATCH_1", "deploymentType"), "_", "-"))
	storage := strings.ToLower(v.given("SSD", "storageType"))
	key := "aws-fsx-lustre/" + deployment
	if strings.HasPrefix(deployment, "persistent") {
		unit, given := v.parameter("perUnitStorageThroughput")
		if !given {
			unit = "200" // the CSI driver's default for perUnitStorageThroughput, in MB/s per TiB
		}
		key += "-" + storage + "-" + unit
	}
	if _, known := c.rows[key]; !known {
		return unidentified(fmt.Sprintf("the catalog has no %s%s", key, c.nearest(key)))
	}
	found := resolved{rows: []string{key}, complete: true,
		compressed: strings.EqualFold(v.given("NONE", "dataCompressionType"), "LZ4")}
	if strings.EqualFold(v.given("NONE", "driveCacheType"), "READ") {
		found.notes = append(found.notes, "the catalog does not cover the SSD read cache: reads served from it can exceed the limits of the disks")
	}
	return found
}

// smb returns no rows for an SMB share, because only the share's address is known, and the address does not identify
// the kind of file server.
func smb(Volume, *Catalog) resolved {
	return unidentified("the server behind an SMB share cannot be discovered; set documented.preset, such as aws-fsx-windows/hdd-32, and documented.capacity")
}

// ebs resolves an EBS volume. Only its StorageClass and VolumeAttributesClass contain the type and the provisioned
// figures.
func ebs(v Volume, c *Catalog) resolved {
	if v.Parameters == nil && v.Modified["type"] == "" {
		return unidentified("the type of the EBS volume is unknown, because its StorageClass does not exist; set documented.preset, such as aws-ebs/gp2, or documented.throughput and documented.iops")
	}
	kind := strings.ToLower(v.given("gp3", "type"))
	key := "aws-ebs/" + kind
	if _, known := c.rows[key]; !known {
		return unidentified(fmt.Sprintf("the catalog has no EBS volume type %.20q%s", kind, c.nearest(key)))
	}
	return resolved{rows: []string{key}, complete: v.Parameters != nil}
}

// efs returns no rows for an EFS file system, because its limits depend on the throughput mode and on the amount of
// stored data, and neither can be discovered.
func efs(Volume, *Catalog) resolved {
	return unidentified("the throughput mode and the stored size of an EFS file system cannot be discovered; set documented.preset to aws-efs/bursting and documented.capacity to the stored size, or set documented.throughput")
}

// openZFS resolves FSx for OpenZFS, whose parameters are JSON values. A volume that is created on an existing file
// system has no parameter for that system's throughput capacity.
func openZFS(v Volume, c *Catalog) resolved {
	tier, given := jsonParameter(v, "ThroughputCapacity")
	if !given {
		return unidentified("the throughput capacity of the FSx for OpenZFS file system is unknown, because the StorageClass does not set it or does not exist; set documented.preset, such as aws-fsx-openzfs/512, and documented.capacity")
	}
	key := "aws-fsx-openzfs/" + tier
	if _, known := c.rows[key]; !known {
		return unidentified(fmt.Sprintf("the catalog has no FSx for OpenZFS file system of %.20q MB/s%s", tier, c.nearest(key)))
	}
	compression, _ := jsonParameter(v, "DataCompressionType")
	found := resolved{rows: []string{key}, complete: true,
		compressed: compression != "" && !strings.EqualFold(compression, "NONE"), parameters: map[string]string{}}
	found.parameters["DiskIopsConfiguration"] = provisionedIOPS(v)
	return found
}

// jsonParameter returns a parameter without its JSON quotes.
func jsonParameter(v Volume, name string) (string, bool) {
	text, given := v.parameter(name)
	if !given {
		return "", false
	}
	var unquoted string
	if json.Unmarshal([]byte(text), &unquoted) == nil {
		return unquoted, unquoted != ""
	}
	return strings.TrimSpace(text), true
}

// provisionedIOPS returns the number in DiskIopsConfiguration, or "" if it is automatic.
func provisionedIOPS(v Volume) string {
	text, given := v.parameter("DiskIopsConfiguration")
	if !given {
		return ""
	}
	var configured struct {
		Mode string
		Iops float64
	}
	if err := json.Unmarshal([]byte(text), &configured); err != nil {
		return text // not a JSON object: figure.provisioned accepts a number and reports any other text
	}
	if configured.Iops == 0 || strings.EqualFold(configured.Mode, "AUTOMATIC") {
		return ""
	}
	return strconv.FormatFloat(configured.Iops, 'f', -1, 64)
}
