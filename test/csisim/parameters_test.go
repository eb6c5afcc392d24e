package csisim

import (
	"reflect"
	"testing"
	"time"

	"github.com/storagebench/storagebench/test/burstfs"
	"github.com/storagebench/storagebench/test/burstfs/model"
)

func TestOverrides(t *testing.T) {
	base := model.Config{
		Buckets: []model.Bucket{
			{Name: "disk", Counts: model.CountsBytes, BaselinePerSecond: 10, BurstPerSecond: 20, Size: 100},
			{Name: "network", Counts: model.CountsBytes, BaselinePerSecond: 30},
		},
		Latency: model.Latency{Fixed: time.Millisecond},
	}
	for _, test := range []struct {
		name, overrides string
		change          func(*model.Config)
	}{
		{"none", "", func(*model.Config) {}},
		{"a field of a bucket", "buckets: [{name: network, baselinePerSecond: 5}]", func(c *model.Config) { c.Buckets[1].BaselinePerSecond = 5 }},
		{"a bucket more", "buckets: [{name: cpu, counts: operations, baselinePerSecond: 5}]", func(c *model.Config) {
			c.Buckets = append(c.Buckets, model.Bucket{Name: "cpu", Counts: model.CountsOperations, BaselinePerSecond: 5})
		}},
		{"a time beside another", "latency: {jitter: 2ms}", func(c *model.Config) { c.Latency.Jitter = 2 * time.Millisecond }},
		{"failures", "failures: [{error: EIO, at: 3s, for: 1s}]", func(c *model.Config) {
			c.Failures = []model.Failure{{Error: model.FailureEIO, Schedule: model.Schedule{At: 3 * time.Second, For: time.Second}}}
		}},
		{"a start fill", "buckets: [{name: disk, startFill: 0}]", func(c *model.Config) { c.Buckets[0].StartFill = model.Pointer(0) }},
		{"a share", "{queueLimit: 4, seed: 7}", func(c *model.Config) { c.QueueLimit, c.Seed = 4, 7 }},
	} {
		t.Run(test.name, func(t *testing.T) {
			wanted := base
			wanted.Buckets = append([]model.Bucket(nil), base.Buckets...)
			test.change(&wanted)
			got, err := override(base, test.overrides)
			if err != nil || !reflect.DeepEqual(got, wanted) {
				t.Errorf("it is %+v, %v\nand should be %+v", got, err, wanted)
			}
		})
	}
}

// TestScenariosSurviveOverrides checks that every scenario is unchanged by an override that changes nothing, which
// writes it as YAML and reads it back.
func TestScenariosSurviveOverrides(t *testing.T) {
	for _, name := range burstfs.Scenarios() {
		config, err := configOf(map[string]string{ScenarioParameter: name, OverridesParameter: "seed: 0"}, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		if wanted, _ := burstfs.Scenario(name); !reflect.DeepEqual(config, wanted) {
			t.Errorf("%s is %+v", name, config)
		}
	}
}
