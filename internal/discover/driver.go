package discover

import (
	"cmp"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Labels by which the CSIDriver of an installation tells its version. Kubernetes itself knows none.
const (
	labelVersion = "app.kubernetes.io/version"
	labelChart   = "helm.sh/chart"
)

// chartVersion is at the end of the name of a chart.
var chartVersion = regexp.MustCompile(`-(v?[0-9]+\.[0-9][^-]*(?:-[0-9A-Za-z.]+)?)$`)

// DriverOf is the name of a claim's CSI driver; empty where the volume has none.
func DriverOf(volume *corev1.PersistentVolume) string {
	if volume == nil || volume.Spec.CSI == nil {
		return ""
	}
	return volume.Spec.CSI.Driver
}

// driverVersion is what the usual labels say; empty where there are none.
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
