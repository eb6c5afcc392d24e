package burstfs_test

import (
	"math"
	"testing"
	"time"

	"github.com/storagebench/storagebench/test/burstfs"
	"github.com/storagebench/storagebench/test/burstfs/model"
)

const megabyte = 1e6

// scenarioTests lists loads for each scenario and what they must show. If the load exhausts the credits of a bucket,
// drains names it, and the expected figures follow from its parameters.
var scenarioTests = []struct {
	scenario   string
	load       load
	operations bool
	drains     string  // the bucket whose credits end, or ""
	level      float64 // the constant rate; 0 if a bucket drains or if dips interrupt the rate
}{
	{"facts", load{"write", 1 << 20, 16, 8 * time.Second}, false, "volume", 0},
	{"fsx-windows-32-hdd", load{"write", 1 << 20, 32, 40 * time.Second}, false, "disk", 0},
	{"fsx-windows-32-hdd-dips", load{"write", 1 << 20, 32, 75 * time.Second}, false, "", 0},
	{"fsx-lustre-none", load{"write", 1 << 20, 32, 20 * time.Second}, false, "", 35.6 * megabyte},
	{"fsx-lustre-lz4", load{"write", 1 << 20, 64, 90 * time.Second}, false, "network", 0},
	{"azure-p20", load{"write", 1 << 20, 32, 50 * time.Second}, false, "throughput", 0},
	{"azure-p20", load{"randread", 4 << 10, 256, 50 * time.Second}, true, "operations", 0},
	{"azure-p30", load{"randwrite", 4 << 10, 128, 15 * time.Second}, true, "", 1250},
	{"azure-p30", load{"read", 256 << 10, 32, 15 * time.Second}, false, "", 50 * megabyte},
	{"azure-vm-cap", load{"read", 256 << 10, 32, 15 * time.Second}, false, "", 48 * megabyte},
	{"azure-vm-cap", load{"randread", 4 << 10, 128, 15 * time.Second}, true, "", 1250},
	{"ebs-gp2", load{"randwrite", 4 << 10, 128, 60 * time.Second}, true, "operations", 0},
	{"azure-files", load{"randwrite", 4 << 10, 256, 50 * time.Second}, true, "operations", 0},
	{"azure-files", load{"write", 1 << 20, 16, 15 * time.Second}, false, "", 11534336},
}

// TestScenariosAreTested requires that every scenario can be read, has a description, and is in scenarioTests.
func TestScenariosAreTested(t *testing.T) {
	tested := map[string]bool{}
	for _, test := range scenarioTests {
		tested[test.scenario] = true
	}
	for _, name := range burstfs.Scenarios() {
		if scenario(t, name).Scenario == "" || !tested[name] {
			t.Errorf("%s has no description or no test", name)
		}
	}
}

// predict applies the load to the model in virtual time, beginning at the given time after the store's start.
func (l load) predict(t *testing.T, config model.Config, from time.Duration) (completions []completion) {
	t.Helper()
	m, err := model.New(config)
	if err != nil {
		t.Fatal(err)
	}
	kind := model.Write
	if l.pattern == "read" || l.pattern == "randread" {
		kind = model.Read
	}
	client := model.Load{Kind: kind, Bytes: int64(l.block), Depth: l.depth, FileBytes: fileBytes}
	for _, a := range client.Run(m, from, from+l.runtime) {
		completions = append(completions, completion{seconds: a.At.Seconds(), bytes: int(a.Bytes)})
	}
	return completions
}

// TestScenariosOnTheModel applies each load to the model without a mount, and compares the resulting rates with the
// parameters of the scenario.
func TestScenariosOnTheModel(t *testing.T) {
	for _, test := range scenarioTests {
		t.Run(test.scenario+"/"+test.load.pattern, func(t *testing.T) {
			config := scenario(t, test.scenario)
			c := sums(test.load.predict(t, config, 0), test.operations)
			check(t, c, config, test.drains, test.level, test.load.runtime, 0.005)
		})
	}
}

// TestDipsPutTheMeanBelowTheMode requires that dips lower the mean rate to 94 % of the rate between dips.
func TestDipsPutTheMeanBelowTheMode(t *testing.T) {
	config := scenario(t, "fsx-windows-32-hdd-dips")
	c := sums(load{"write", 1 << 20, 32, 25 * time.Second}.predict(t, config, 0), false)
	mean, mode := c.fit(1, 25).rate, c.fit(12, 25).rate
	if ratio := c[len(c)-1].sum / 25 / mode; ratio < 0.93 || ratio > 0.95 {
		t.Errorf("mean %g (slope %g), mode %g: %g, want 0.94", c[len(c)-1].sum/25, mean, mode, ratio)
	}
}

func check(t *testing.T, c curve, config model.Config, drains string, level float64, runtime time.Duration, relative float64) {
	t.Helper()
	if level > 0 {
		got := c.fit(1, runtime.Seconds()).rate
		t.Logf("level %.6g, the parameters say %.6g: %+.2f %%", got, level, 100*(got/level-1))
		if math.Abs(got/level-1) > relative {
			t.Errorf("the level is off by more than %g %%", 100*relative)
		}
	}
	for _, b := range config.Buckets {
		if b.Name == drains {
			want := drain{b.BurstPerSecond, b.BaselinePerSecond, b.SecondsOfBurst()}
			got := c.measure(want.seconds, runtime.Seconds())
			// If the refill is close to the burst rate, slightly less demand makes the credits last much longer. So compute the
			// expected time from the measured burst rate.
			if b.BurstPerSecond > 2*(b.BurstPerSecond-b.Refill()) {
				want.seconds = b.Size / (got.burst - b.Refill())
			}
			got.hold(t, want, relative)
		}
	}
}
