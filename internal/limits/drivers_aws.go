package limits

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// lustre: the volume carries only the server's name; the class says what it is.
func lustre(v Volume, c *Catalog) resolved {
	if v.Parameters == nil {
		return lacking("an FSx for Lustre volume does not say what it is, and its StorageClass is not there; name the deployment, such as aws-fsx-lustre/persistent-2-ssd-250, and limits.capacity")
	}
	deployment := strings.ToLower(strings.ReplaceAll(v.given("SCRATCH_1", "deploymentType"), "_", "-"))
	storage := strings.ToLower(v.given("SSD", "storageType"))
	key := "aws-fsx-lustre/" + deployment
	if strings.HasPrefix(deployment, "persistent") {
		unit, given := v.parameter("perUnitStorageThroughput")
		if !given {
			unit = "200" // the driver's default
		}
		key += "-" + storage + "-" + unit
	}
	if _, known := c.rows[key]; !known {
		return lacking(fmt.Sprintf("the catalog has no %s%s", key, c.nearest(key)))
	}
	found := resolved{rows: []string{key}, complete: true,
		compressed: strings.EqualFold(v.given("NONE", "dataCompressionType"), "LZ4")}
	if strings.EqualFold(v.given("NONE", "driveCacheType"), "READ") {
		found.notes = append(found.notes, "the SSD read cache is not in the catalog: what it answers is faster than the limits of the disks")
	}
	return found
}

// smb: a share shows nothing but its address.
func smb(Volume, *Catalog) resolved {
	return lacking("what is behind an SMB share cannot be discovered; name it, such as aws-fsx-windows/hdd-32, and limits.capacity")
}

// ebs: the type and what was provisioned are in the classes only.
func ebs(v Volume, c *Catalog) resolved {
	if v.Parameters == nil && v.Modified["type"] == "" {
		return lacking("an EBS volume does not say its type, and its StorageClass is not there; name it, such as aws-ebs/gp2, or write the limits themselves, in limits.throughput and limits.iops")
	}
	kind := strings.ToLower(v.given("gp3", "type"))
	key := "aws-ebs/" + kind
	if _, known := c.rows[key]; !known {
		return lacking(fmt.Sprintf("the catalog has no EBS volume type %.20q%s", kind, c.nearest(key)))
	}
	return resolved{rows: []string{key}, complete: v.Parameters != nil}
}

// efs: neither the throughput mode nor the amount of stored data, on which it depends, can be discovered.
func efs(Volume, *Catalog) resolved {
	return lacking("neither the throughput mode of an EFS file system nor how much is stored in it can be discovered; write aws-efs/bursting and, in limits.capacity, the size of the stored data, or the limits themselves, in limits.throughput")
}

// openZFS: parameters are JSON values; a volume on a file system that exists does not say that system's tier.
func openZFS(v Volume, c *Catalog) resolved {
	tier, given := jsonParameter(v, "ThroughputCapacity")
	if !given {
		return lacking("the throughput capacity of the FSx for OpenZFS file system is not known: the StorageClass does not say it, or is not there; name it, such as aws-fsx-openzfs/512, and limits.capacity")
	}
	key := "aws-fsx-openzfs/" + tier
	if _, known := c.rows[key]; !known {
		return lacking(fmt.Sprintf("the catalog has no FSx for OpenZFS file system of %.20q MB/s%s", tier, c.nearest(key)))
	}
	compression, _ := jsonParameter(v, "DataCompressionType")
	found := resolved{rows: []string{key}, complete: true,
		compressed: compression != "" && !strings.EqualFold(compression, "NONE"), parameters: map[string]string{}}
	found.parameters["DiskIopsConfiguration"] = provisionedIOPS(v)
	return found
}

// jsonParameter takes a value out of its quotes.
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

// provisionedIOPS is the number of DiskIopsConfiguration, "" where it is automatic.
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
		return text // which is said to be no number
	}
	if configured.Iops == 0 || strings.EqualFold(configured.Mode, "AUTOMATIC") {
		return ""
	}
	return strconv.FormatFloat(configured.Iops, 'f', -1, 64)
}
