package discover

import (
	"cmp"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Labels of a CSIDriver object from which the driver's version is read, because the object has no field for it.
const (
	labelVersion = "app.kubernetes.io/version"
	labelChart   = "helm.sh/chart"
)

// chartVersion matches the version at the end of a chart's name.
var chartVersion = regexp.MustCompile(`-(v?[0-9]+\.[0-9][^-]*(?:-[0-9A-Za-z.]+)?)$`)

// DriverOf returns the name of a volume's CSI driver, or "" if it has none.
func DriverOf(volume *corev1.PersistentVolume) string {
	if volume == nil || volume.Spec.CSI == nil {
		return ""
	}
	return volume.Spec.CSI.Driver
}

// driverVersion returns the driver's version: the value of labelVersion or else the version in labelChart, or "" if the
// object has neither.
func driverVersion(driver *storagev1.CSIDriver) string {
	if driver == nil {
		return ""
	}
	chart := ""
	if found := chartVersion.FindStringSubmatch(driver.Labels[labelChart]); found != nil {
		chart = found[1]
	}
	return v1alpha1.Truncate(cmp.Or(driver.Labels[labelVersion], chart), 64)
}
