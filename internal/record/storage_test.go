package record

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/limits"
)

// largest returns a description in which every field exceeds its maximum length.
func largest(target string) v1alpha1.StorageDescription {
	long := strings.Repeat("long ", 400)
	d := limits.Description{Clients: []limits.Machines{{Type: long, Nodes: 3}}}
	for range 20 {
		parameters := map[string]string{"secretName": "x", "csi.storage.k8s.io/node-stage-secret-name": "y"}
		for i := range 100 {
			parameters[fmt.Sprintf("parameter-%03d", i)] = long
		}
		d.Volumes = append(d.Volumes, limits.Volume{Driver: long, Parameters: parameters, MountOptions: []string{"rw,username=somebody,password=secret,cache=none"}, Count: 2})
	}
	c := limits.Computed{CatalogVersion: long, Cache: limits.Cache{Bytes: 1e9}}
	for i := range 60 {
		c.Limits = append(c.Limits, limits.Limit{Name: fmt.Sprint(i, long), Layer: limits.LayerDisk, Dimension: limits.Bytes, Baseline: 1e6, Burst: 1e7, Bucket: 1e9, Refill: 1e6,
			Units: 2, Arithmetic: long, BurstArithmetic: long, BucketArithmetic: long, Row: long, Sources: []limits.Source{{Title: long, URL: long}}, Note: long})
		c.Missing = append(c.Missing, limits.Missing{Field: long, What: long})
	}
	return limits.Record(target, d, c)
}

// TestStorageIsBounded checks that recorded descriptions of storage stay within the API's limits, name no Secret and no
// person, and are recorded only once. They must not push the status of a run beyond its limit: texts are shortened,
// figures are not.
func TestStorageIsBounded(t *testing.T) {
	run := &v1alpha1.BenchmarkRun{}
	var found []v1alpha1.StorageDescription
	for i := range 16 {
		name := fmt.Sprintf("target-%02d", i)
		run.Spec.Run.Targets = append(run.Spec.Run.Targets, v1alpha1.Target{Name: name})
		found = append([]v1alpha1.StorageDescription{largest(name)}, found...)
	}
	one := found[0]
	if len(one.Volumes) != 16 || len(one.Limits) != 48 || len(one.Missing) != 16 || len(one.Notes) != 16 || len(one.Volumes[0].Parameters) != 64 || len(one.Limits[0].Source) > 512 {
		t.Errorf("out of bounds: %d volumes, %d limits, %d missing, %d notes", len(one.Volumes), len(one.Limits), len(one.Missing), len(one.Notes))
	}
	for key := range one.Volumes[0].Parameters {
		if strings.Contains(strings.ToLower(key), "secret") {
			t.Errorf("%s is recorded", key)
		}
	}
	if difference := cmp.Diff([]string{"cache=none", "rw"}, one.Volumes[0].MountOptions); difference != "" {
		t.Errorf("mount options (-want +got): %s", difference)
	}
	Storage(run, found)
	if got := run.Status.Storage[0].Target; got != "target-00" {
		t.Errorf("the first is %s, not that of the specification", got)
	}
	if l := run.Status.Storage[15].Limits[47]; l.Baseline != 1e6 || *l.Burst != 1e7 || *l.Bucket != 1e9 {
		t.Errorf("figures were dropped: %+v", l)
	}
	Storage(run, found[:1])
	if len(run.Status.Storage) != 16 {
		t.Error("it is recorded twice")
	}
	small := &v1alpha1.BenchmarkRun{}
	small.Spec.Run.Targets = []v1alpha1.Target{{Name: "target-00"}}
	Storage(small, []v1alpha1.StorageDescription{largest("target-00")})
	if bytes := size(&small.Status); bytes > maxStatusBytes {
		t.Errorf("one target alone takes %d bytes", bytes)
	}
}

// TestSuspectsGiveWay checks that a status that is too large loses suspects, the least likely first. The reached rates
// must remain.
func TestSuspectsGiveWay(t *testing.T) {
	run := &v1alpha1.BenchmarkRun{}
	for range 24 {
		var phase v1alpha1.PhaseResult
		for range 4 {
			one := v1alpha1.Attribution{Level: v1alpha1.LevelBurst, Baseline: &v1alpha1.DocumentedRate{Limit: "disk", PermilleReached: 987}}
			for range 8 {
				one.Suspects = append(one.Suspects, v1alpha1.Suspect{Cause: v1alpha1.CauseDisk, Limit: "disk", PermilleUsed: 987, Arithmetic: strings.Repeat("x", 256),
					Evidence: []string{strings.Repeat("y", 256), strings.Repeat("z", 256), strings.Repeat("y", 256)}})
			}
			phase.Targets = append(phase.Targets, v1alpha1.TargetResult{Target: "a", Attributions: []v1alpha1.Attribution{one, one}})
		}
		run.Status.Phases = append(run.Status.Phases, phase)
	}
	fit(run)
	if bytes := size(&run.Status); bytes > maxStatusBytes {
		t.Errorf("%d bytes", bytes)
	}
	for _, phase := range run.Status.Phases {
		for _, target := range phase.Targets {
			for _, one := range target.Attributions {
				if len(one.Suspects) == 0 || one.Suspects[0].PermilleUsed != 987 || one.Baseline.PermilleReached != 987 {
					t.Fatalf("figures were dropped: %+v", one)
				}
			}
		}
	}
}
