package discover

import (
	"testing"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestDriverVersion(t *testing.T) {
	for want, labels := range map[string]map[string]string{
		"1.26.0":       {"app.kubernetes.io/version": "1.26.0", "helm.sh/chart": "aws-ebs-csi-driver-2.26.0"},
		"2.26.0":       {"helm.sh/chart": "aws-ebs-csi-driver-2.26.0"},
		"v1.30.1":      {"helm.sh/chart": "azuredisk-csi-driver-v1.30.1"},
		"1.2.0-beta.1": {"helm.sh/chart": "smb-1.2.0-beta.1"},
		"":             {"helm.sh/chart": "driver-of-mine", "team": "storage-1.2"},
	} {
		if got := driverVersion(&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Labels: labels}}); got != want {
			t.Errorf("%v: %q, want %q", labels, got, want)
		}
	}
	if got := driverVersion(nil); got != "" {
		t.Errorf("no driver: %q", got)
	}
}
