package v1alpha1_test

import (
	"cmp"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// defaulted holds runs as users write them, and as the API server stored them when the schema still set these defaults.
// An empty stored means the same as file.
var defaulted = map[string]struct{ file, stored string }{
	"nothing": {file: `{}`},
	"target": {
		file: `
targets:
- volumes: [{claimTemplate: {}}, {claimName: a}]
- {dataPolicy: Retain, volumes: [{claimTemplate: {scope: PerClient, lifetime: Benchmark}}]}
- {claimName: share}`,
		stored: `
targets:
- {dataPolicy: Delete, volumes: [{claimTemplate: {scope: Shared, lifetime: Run}}, {claimName: a}]}
- {dataPolicy: Retain, volumes: [{claimTemplate: {scope: PerClient, lifetime: Benchmark}}]}
- {dataPolicy: Delete, volumes: [{name: data, claimName: share}]}`,
	},
	"phases": {
		file: `phases: [{prepare: {}}, {steady: {}}, {ramp: {}}, {sweep: {}}, {burstDrain: {}}, {cooldown: {}}]`,
		stored: `
phases:
- {mode: Parallel, prepare: {precondition: 0}}
- {mode: Parallel, steady: {warmUp: 0s}}
- {mode: Parallel, ramp: {warmUp: 0s}}
- {mode: Parallel, sweep: {warmUp: 0s}}
- {mode: Parallel, burstDrain: {minDuration: 2m}}
- {mode: Parallel, cooldown: {}}`,
	},
	"refill": {
		file: `
phases:
- {mode: Parallel, refill: {idle: 1h}}
- {mode: Parallel, refill: {idle: 1h, maxDuration: 3h}}`,
		stored: `
phases:
- {mode: Parallel, cooldown: {redrain: {idle: 1h}}}
- {mode: Parallel, cooldown: {redrain: {idle: 1h}, maxDuration: 3h}}`,
	},
	"other values in phases": {file: `
phases:
- {mode: Sequential, prepare: {precondition: 2}}
- {mode: Parallel, steady: {warmUp: 5s}}
- {mode: Parallel, ramp: {warmUp: 5s}}
- {mode: Parallel, sweep: {warmUp: 5s}}
- {mode: Parallel, burstDrain: {minDuration: 1m}}`},
	"workloads": {
		file: `
workload: {ior: {}}
phases:
- workload: {mdtest: {}}
- targetWorkloads: [{workload: {profileRef: {name: a}}}, {workload: {fio: {}}}]`,
		stored: `
workload: {ior: {api: POSIX, segments: 1, filePerProcess: true, operations: [Write], fsync: true}}
phases:
- {mode: Parallel, workload: {mdtest: {iterations: 1}}}
- mode: Parallel
  targetWorkloads: [{workload: {profileRef: {name: a}}}, {workload: {fio: {}}}]`,
	},
	"other values in workloads": {file: `
workload: {ior: {api: MPIIO, segments: 4, filePerProcess: false, operations: [Read], fsync: false}}
phases:
- {mode: Parallel, workload: {mdtest: {iterations: 3}}}
- {mode: Parallel, workload: {profileRef: {name: a, kind: ClusterWorkloadProfile}}}`},
}

func TestSetDefaults(t *testing.T) {
	for name, test := range defaulted {
		t.Run(name, func(t *testing.T) {
			var got, want v1alpha1.RunSpec
			if err := yaml.UnmarshalStrict([]byte(test.file), &got); err != nil {
				t.Fatal(err)
			}
			if err := yaml.UnmarshalStrict([]byte(cmp.Or(test.stored, test.file)), &want); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				got.SetDefaults()
				if diff := gocmp.Diff(want, got); diff != "" {
					t.Errorf("defaults (-stored +set):\n%s", diff)
				}
			}
		})
	}
}
