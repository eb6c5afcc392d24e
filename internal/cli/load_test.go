package cli

import (
	"io"
	"strings"
	"testing"
)

// TestPresetOfTheCluster checks that a file may name a preset that this program does not know if the run is planned by
// the operator, but not if it is planned locally.
func TestPresetOfTheCluster(t *testing.T) {
	t.Parallel()
	const file = `apiVersion: storagebench.dev/v1alpha1
kind: StorageBenchmark
metadata: {name: filer}
spec:
  run:
    targets:
    - name: data
      volumes: [{name: data, claimName: disk}]
      documented: {preset: my-filer/large}
    workload:
      fio: {pattern: Random, readPercent: 0, blockSize: 4Ki, queueDepth: 4, datasetSize: 1Gi}
    phases:
    - {name: layout, prepare: {}}
    - {name: matrix, sweep: {axes: {jobs: [1, 2]}, regime: Burst, stepDuration: 60s}}
`
	read := func(options loadOptions) error {
		streams := Streams{In: strings.NewReader(file), Out: io.Discard, Err: io.Discard}
		_, err := load(streams, []string{"-"}, options)
		return err
	}
	if err := read(loadOptions{inCluster: true}); err != nil {
		t.Errorf("in a cluster: %v", err)
	}
	if err := read(loadOptions{}); err == nil || !strings.Contains(err.Error(), "documented.preset") {
		t.Errorf("not in a cluster: %v", err)
	}
}
