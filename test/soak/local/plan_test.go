package local_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/test/burstfs"
	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/local"
	"github.com/storagebench/storagebench/test/soak"
	"github.com/storagebench/storagebench/test/stillness"
)

// planned holds the times in the output of `plan -o json`.
type planned struct {
	ExpectedSeconds *float64      `json:"expectedSeconds"`
	Steps           []plannedStep `json:"steps"`
}

type plannedStep struct {
	ID, Phase       string
	OffsetSeconds   float64  `json:"offsetSeconds"`
	ExpectedSeconds *float64 `json:"expectedSeconds"`
	AtLeastSeconds  *float64 `json:"atLeastSeconds"`
	LimitSeconds    float64  `json:"limitSeconds"`
}

func planOf(t *testing.T, file string) planned {
	t.Helper()
	got := local.Call(t, "plan", "-f", file, "-o", "json")
	var read planned
	if err := json.Unmarshal([]byte(got.Stdout), &read); err != nil || got.Code != 0 || len(read.Steps) == 0 {
		t.Fatalf("plan of %s: exit code %d, %v\n%s", file, got.Code, err, got.Stderr)
	}
	return read
}

// A time may differ from the plan by planShare or by planSlack seconds, the time that a slow machine may need to start
// a program, whichever is more. The time for which the machine kept programs waiting is added.
const (
	planShare = 0.05
	planSlack = 0.5
	// stoodShare is the largest share of a run for which the machine may keep programs waiting. Beyond it, deviations
	// from the plan are inconclusive.
	stoodShare = 0.02
)

// kept compares the start and duration of each step of a run with its plan. Starts count from the end of the last step
// whose duration the plan did not know. undocumented lists phases in which the store deviates from its documented
// limits; these are compared only with the plan's time limit.
func kept(t *testing.T, plan planned, document report.Document, still *stillness.Watch, undocumented ...string) {
	t.Helper()
	offPlan := func(actual, expected float64, from, to *metav1.MicroTime) bool {
		return math.Abs(actual-expected) > max(planSlack, planShare*expected)+still.Between(from.Time, to.Time).Seconds()
	}
	var deviations []string
	wrong := func(format string, arguments ...any) {
		deviations = append(deviations, fmt.Sprintf(format, arguments...))
	}
	// Steps are compared by position: a sweep runs its cells in a different order in each run, but all its cells take the
	// same time.
	facts, repeated := attempts(document.Steps)
	if len(facts) != len(plan.Steps) {
		t.Fatalf("%d steps were run, %d are planned", len(facts), len(plan.Steps))
	}
	first := facts[0].StartTime
	seconds := func(at *metav1.MicroTime) float64 { return at.Sub(first.Time).Seconds() }
	var table strings.Builder
	late := 0.0 // delay by steps whose duration the plan did not know
	for i, step := range plan.Steps {
		fact := facts[i]
		ends, next := fact.EndTime, step.OffsetSeconds
		if i+1 < len(plan.Steps) {
			ends, next = facts[i+1].StartTime, plan.Steps[i+1].OffsetSeconds
		}
		begin, end := seconds(fact.StartTime), seconds(ends)
		took, begins := end-begin, step.OffsetSeconds+late
		if offPlan(begin, begins, first, fact.StartTime) {
			wrong("%s began after %.1f s, planned were %.1f", fact.ID, begin, begins)
		}
		known := step.ExpectedSeconds
		for _, phase := range undocumented {
			if phase == step.Phase {
				known = nil
			}
		}
		if repeated[fact.ID] { // A plan has no repetitions, which a very busy machine causes.
			known = nil
		}
		says := "unknown"
		switch {
		case known != nil:
			says = fmt.Sprintf("%.1f", *known)
			if offPlan(took, *known, fact.StartTime, ends) {
				wrong("%s took %.1f s, planned were %.1f", fact.ID, took, *known)
			}
		case step.AtLeastSeconds != nil:
			says = fmt.Sprintf("%.1f or more", *step.AtLeastSeconds)
			if took < *step.AtLeastSeconds && offPlan(took, *step.AtLeastSeconds, fact.StartTime, ends) {
				wrong("%s took %.1f s, planned were %.1f or more", fact.ID, took, *step.AtLeastSeconds)
			}
		}
		if took > step.LimitSeconds+planSlack+still.Between(fact.StartTime.Time, ends.Time).Seconds() && !repeated[fact.ID] {
			wrong("%s took %.1f s, and its limit is %.1f", fact.ID, took, step.LimitSeconds)
		}
		if known == nil {
			late = end - next
		}
		fmt.Fprintf(&table, "  %-28s began %7.1f (%7.1f)   took %6.1f (%s) %s\n", fact.ID, begin, begins, took, says, loaded(fact))
	}
	last := facts[len(facts)-1].EndTime
	if whole := seconds(last); plan.ExpectedSeconds != nil && len(undocumented)+len(repeated) == 0 && offPlan(whole, *plan.ExpectedSeconds, first, last) {
		wrong("the run took %.1f s, planned were %.1f", whole, *plan.ExpectedSeconds)
	}
	stood := still.Between(first.Time, last.Time)
	t.Logf("seconds, in brackets what was planned; the machine kept programs waiting for %s:\n%s", stood, &table)
	// While sleeping programs wait too long, programs that compute are slowed down even more. No watch measures that.
	if len(deviations) > 0 && stood.Seconds() > stoodShare*seconds(last) {
		soak.Inconclusive(t, "the machine kept programs waiting for %s of %.0f s: %s", stood, seconds(last), strings.Join(deviations, "; "))
	}
	for _, one := range deviations {
		t.Error(one)
	}
}

// attempts merges the attempts of each step into one entry, from the start of the first attempt to the end of the last.
func attempts(steps []v1alpha1.StepStatus) (joined []v1alpha1.StepStatus, repeated map[string]bool) {
	repeated = map[string]bool{}
	for _, step := range steps {
		if last := len(joined) - 1; last >= 0 && joined[last].ID == step.ID {
			repeated[step.ID], joined[last].EndTime = true, step.EndTime
			continue
		}
		joined = append(joined, step)
	}
	return joined, repeated
}

// loaded describes when a step's load began and ended, to help explain its duration.
func loaded(fact v1alpha1.StepStatus) string {
	text := ""
	for _, one := range []struct {
		what string
		at   *metav1.MicroTime
	}{{"first I/O", fact.FirstIOTime}, {"concluded", fact.ConcludedTime}, {"last I/O", fact.LastIOTime}, {"end", fact.EndTime}} {
		if one.at != nil {
			text += fmt.Sprintf("  %s +%.2f", one.what, one.at.Sub(fact.StartTime.Time).Seconds())
		}
	}
	return text
}

// keptFile has a layout, a drain, a steady phase and a redrain on a store with known limits, so that the plan knows all
// times.
const keptFile = `apiVersion: storagebench.dev/v1alpha1
kind: StorageBenchmark
metadata: {name: kept}
spec:
  run:
    targets:
    - name: data
      volumes: [{name: data, claimName: data}]
      documented: {throughput: {baseline: 10M, burst: 60M, bucket: 800M, refill: 5M}}
    clients: {count: 1}
    workload: {fio: {pattern: Sequential, readPercent: 0, blockSize: 256Ki, queueDepth: 64, datasetSize: 64Mi}}
    phases:
    - {name: layout, prepare: {}}
    - {name: burst, burstDrain: {minDuration: 10s, maxDuration: 40s}}
    - {name: baseline, steady: {duration: 4s, warmUp: 1s}}
    - {name: refill, cooldown: {redrain: {idle: 6s}}}
`

// TestPlanIsKept checks that a run keeps the timeline of its plan.
func TestPlanIsKept(t *testing.T) {
	file := local.Write(t, local.Usual, keptFile)
	plan := planOf(t, file)
	if plan.ExpectedSeconds == nil {
		t.Fatalf("the plan does not know all of its times: %+v", plan)
	}
	store := local.Mount(t, model.Config{Latency: model.Latency{Fixed: time.Millisecond, Jitter: time.Millisecond / 2},
		Buckets: []model.Bucket{{Name: "volume", Counts: model.CountsBytes, BaselinePerSecond: 10e6, BurstPerSecond: 60e6,
			RefillPerSecond: model.Pointer(5e6), Size: 800e6}}})
	still := stillness.During(t)
	kept(t, plan, local.OnStore(t, store, "data", file), still)
}

// sample is a file in config/samples, with what it needs to run on this machine.
type sample struct {
	file string
	// stores maps targets to simulated stores: to the name of a scenario, or of a StorageClass in the storage file of a
	// twin.
	stores map[string]string
	// plain lists the targets that are directories of this machine.
	plain []string
	// undocumented lists phases in which the store deviates from its documented limits.
	undocumented []string
}

// samples lists the samples that can run here unchanged. Samples of real systems take hours and need cloud storage;
// their twins have the same phases on small simulated stores.
var samples = []sample{
	{file: "quickstart", plain: []string{"data"}},
	{file: "database-log", plain: []string{"data"}},
	{file: "jobfile", plain: []string{"data"}},
	{file: "zip", plain: []string{"data"}},
	{file: "ior", plain: []string{"share"}},
	{file: "fsx-windows-32-hdd-in-small", stores: map[string]string{"share": "fsx-windows-32-hdd"}},
	// Its burst fluctuates above the documented rate, like that of the real system.
	{file: "twins/aws-fsx-windows", stores: map[string]string{"share": "twin-fsx-windows"}, undocumented: []string{"burst", "layout"}},
	{file: "twins/aws-fsx-lustre-compression", stores: map[string]string{"none": "twin-fsx-lustre-none", "lz4": "twin-fsx-lustre-lz4"}},
	{file: "twins/azure-p30-servers", stores: map[string]string{"single": "twin-single-server", "s2d": "twin-storage-spaces-direct"}},
}

// TestPlansOfSamples plans and runs each sample, and checks that the run keeps its plan.
func TestPlansOfSamples(t *testing.T) {
	for _, one := range samples {
		t.Run(filepath.Base(one.file), func(t *testing.T) {
			file := filepath.Join("../../../config/samples", one.file+".yaml")
			plan := planOf(t, file)
			if strings.Contains(one.file, "ior") || strings.Contains(one.file, "lustre") {
				local.WithIOR(t)
			}
			arguments := []string{"run", "--local", "-f", file, "-o", "json"}
			for _, target := range one.plain {
				arguments = append(arguments, "--target", target+"="+t.TempDir())
			}
			for target, name := range one.stores {
				config, err := burstfs.Scenario(name)
				if strings.HasPrefix(name, "twin-") {
					config, err = twinStore(one.file, name)
				}
				if err != nil {
					t.Fatal(err)
				}
				store := local.Mount(t, config)
				if err := os.Mkdir(filepath.Join(store.Path(), "bench"), 0o777); err != nil { // the path of a twin's target
					t.Fatal(err)
				}
				arguments = append(arguments, "--target", target+"="+store.Path())
			}
			still := stillness.During(t)
			kept(t, plan, local.Ended(t, local.Start(t, arguments...)), still, one.undocumented...)
		})
	}
}

// twinStore returns the store of a StorageClass in the storage file of a twin.
func twinStore(file, class string) (model.Config, error) {
	storage, err := os.Open(filepath.Join("../../../config/samples/twins/storage", filepath.Base(file)+".yaml"))
	if err != nil {
		return model.Config{}, err
	}
	defer func() { _ = storage.Close() }()
	for decoder := yaml.NewDecoder(storage); ; {
		var object struct {
			Metadata   struct{ Name string }
			Parameters map[string]string
		}
		if err := decoder.Decode(&object); err != nil {
			return model.Config{}, fmt.Errorf("StorageClass %s: %w", class, err)
		}
		if object.Metadata.Name == class {
			return burstfs.Parse([]byte(object.Parameters["csisim/config"]))
		}
	}
}
