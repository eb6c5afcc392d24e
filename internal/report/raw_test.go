package report_test

import (
	"strings"
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// TestRawDevice checks that the report of a raw device shows its size and no file system.
func TestRawDevice(t *testing.T) {
	document := documents["not-valid"].document(t)
	document.Environments = []v1alpha1.Environment{{Target: "disk", Clients: 1, ToolVersion: "fio-3.33",
		Volumes: []v1alpha1.MountedVolume{{Name: "disk", SizeBytes: 1 << 30}}}}
	got := text(t, document, verbose)
	if !strings.Contains(got, "target disk: 1 client, fio-3.33, disk without a file system (1.074 GB)") || strings.Contains(got, "unknown") {
		t.Errorf("%s", got)
	}
}
