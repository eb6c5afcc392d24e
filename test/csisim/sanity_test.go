package csisim_test

import (
	"context"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-test/v5/pkg/sanity"
	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	"github.com/onsi/gomega"

	"github.com/storagebench/storagebench/test/csisim"
)

// notSimulated maps each reason for which csi-test may skip a test to our reason. An empty one means that the
// capability exists, so that a skipped test fails TestSanity.
var notSimulated = map[string]string{
	"GetCapacity not supported":                                           "volumes have no pool that could be exhausted",
	"Snapshot not supported":                                              "no benchmark needs snapshots",
	"ListSnapshots not supported":                                         "no benchmark needs snapshots",
	"GetSnapshot not supported":                                           "no benchmark needs snapshots",
	"CreateSnapshot not supported":                                        "no benchmark needs snapshots",
	"DeleteSnapshot not supported":                                        "no benchmark needs snapshots",
	"SNAPSHOT_ACCESSIBILITY_CONSTRAINTS not supported":                    "no benchmark needs snapshots",
	"GroupControllerService not supported":                                "no benchmark needs snapshots of groups",
	"CreateVolumeGroupSnapshot not supported":                             "no benchmark needs snapshots of groups",
	"VolumeGroupSnapshot not supported":                                   "no benchmark needs snapshots of groups",
	"Volume Cloning not supported":                                        "no benchmark needs clones",
	"ControllerPublishVolume not supported":                               "CSIDriver objects say attachRequired: false",
	"Controller Publish, UnpublishVolume not supported":                   "CSIDriver objects say attachRequired: false",
	"ControllerUnpublishVolume not supported":                             "CSIDriver objects say attachRequired: false",
	"ControllerPublishVolume.readonly field not supported":                "CSIDriver objects say attachRequired: false",
	"testnodevolumeattachlimit not enabled":                               "CSIDriver objects say attachRequired: false",
	"NodeExpandVolume not supported":                                      "the controller is on the node and does it all",
	"NodeGetVolumeHealth not supported":                                   "stats fail where a store is gone",
	"NodeGetStorageHealth not supported":                                  "stats fail where a store is gone",
	"ControllerGetVolumeHealth not supported":                             "stats fail where a store is gone",
	"ControllerListVolumeHealth not supported":                            "stats fail where a store is gone",
	"Service does not have single node multi writer capability":           "", // it is supported
	"Controller Service not provided: CreateVolume not supported":         "", // it is supported
	"Service for Volume Expansion not supported: ExpandVolume is not set": "", // it is supported
}

// TestSanity runs csi-test's suite on file systems, on raw devices, and under the name of a real driver whose handles
// contain slashes.
func TestSanity(t *testing.T) {
	home := newHome(t)
	variants := []struct{ title, driver, kind string }{
		{"file systems", generic, "mount"},
		{"raw devices", "ebs.csi.aws.com", "block"},
		{"a real name", "smb.csi.k8s.io", "mount"},
	}
	for _, v := range variants {
		if v.kind == "block" {
			requireLoop(t)
		}
		o := optionsOf(home, v.driver)
		d := newDriver(t, o)
		ctx, cancel := context.WithCancel(context.Background())
		ended, ready := make(chan error, 1), make(chan struct{})
		go func() { ended <- d.Serve(ctx, func() { close(ready) }) }()
		<-ready
		t.Cleanup(func() {
			cancel()
			must(t, <-ended)
		})
		config := sanity.NewTestConfig()
		config.Address = "unix:" + csisim.Socket(home, v.driver)
		config.TargetPath = filepath.Join(home, "t-"+v.kind+v.driver)
		config.StagingPath = filepath.Join(home, "s-"+v.kind+v.driver)
		config.TestVolumeAccessType = v.kind
		config.TestVolumeParameters = map[string]string{
			csisim.ScenarioParameter: "facts", "source": "//server/share", "type": "gp3",
		}
		config.TestVolumeMutableParameters = map[string]string{
			csisim.OverridesParameter: "buckets: [{name: volume, counts: bytes, burstPerSecond: 70e6}]",
		}
		config.IdempotentCount = 3
		ginkgo.Describe(v.title, func() { sanity.GinkgoTest(&config) })
	}
	skipped := map[string][]string{}
	ginkgo.ReportAfterEach(func(r ginkgo.SpecReport) {
		switch {
		case r.State.Is(types.SpecStateSkipped) && r.Failure.Message != "":
			skipped[r.Failure.Message] = append(skipped[r.Failure.Message], r.FullText())
		case r.State.Is(types.SpecStatePending):
			skipped["csi-test has it pending"] = append(skipped["csi-test has it pending"], r.FullText())
		}
	})
	must(t, flag.Set("ginkgo.no-color", "true"))
	if !testing.Verbose() {
		must(t, flag.Set("ginkgo.succinct", "true"))
	}
	gomega.RegisterFailHandler(ginkgo.Fail)
	ginkgo.RunSpecs(t, "csi-test sanity")
	for _, reason := range slices.Sorted(maps.Keys(skipped)) {
		ours := notSimulated[reason]
		t.Logf("%d skipped: %s (%s)", len(skipped[reason]), reason, ours)
		if ours == "" && reason != "csi-test has it pending" {
			t.Errorf("skipped without a reason of ours: %s:\n%s", reason, strings.Join(skipped[reason], "\n"))
		}
	}
	// Without a driver in its home, nothing was tested.
	if entries, err := os.ReadDir(home); err != nil || len(entries) == 0 {
		t.Errorf("no driver was there: %v", err)
	}
}
