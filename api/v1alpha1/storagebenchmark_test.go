package v1alpha1_test

import (
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// TestNamesOfCronJob checks that the former fields still work beside the fields named as in CronJob, which take
// precedence.
func TestNamesOfCronJob(t *testing.T) {
	for name, test := range map[string]struct {
		spec             string
		complete, failed int
		replaces         bool
		deadline         time.Duration
	}{
		"nothing": {`{}`, 20, 5, false, 0},
		"new": {`{successfulRunsHistoryLimit: 3, failedRunsHistoryLimit: 0, trigger: {concurrencyPolicy: Replace, startingDeadlineSeconds: 600}}`,
			3, 0, true, 10 * time.Minute},
		"former":          {`{historyLimit: 4, failedHistoryLimit: 0, trigger: {replacePolicy: Stop, startingDeadline: 2h}}`, 4, 0, true, 2 * time.Hour},
		"former, to wait": {`{trigger: {replacePolicy: Wait}}`, 20, 5, false, 0},
		"both": {`{successfulRunsHistoryLimit: 3, historyLimit: 20, failedRunsHistoryLimit: 1, failedHistoryLimit: 5,
trigger: {concurrencyPolicy: Forbid, replacePolicy: Stop, startingDeadlineSeconds: 5, startingDeadline: 2h}}`, 3, 1, false, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			var spec v1alpha1.StorageBenchmarkSpec
			if err := yaml.UnmarshalStrict([]byte(test.spec), &spec); err != nil {
				t.Fatal(err)
			}
			if complete, failed := spec.HistoryLimits(); complete != test.complete || failed != test.failed {
				t.Errorf("%d complete and %d failed runs are kept, want %d and %d", complete, failed, test.complete, test.failed)
			}
			if replaces := spec.Trigger.Replaces(); replaces != test.replaces {
				t.Errorf("replaces %t, want %t", replaces, test.replaces)
			}
			if spec.Trigger == nil {
				return
			}
			deadline, err := spec.Trigger.Deadline()
			if err != nil || deadline != test.deadline {
				t.Errorf("deadline %s, %v, want %s", deadline, err, test.deadline)
			}
		})
	}
}
