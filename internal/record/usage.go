package record

import "github.com/storagebench/storagebench/api/v1alpha1"

// dropUsageTypes drops the disk usage by file type and keeps the total.
func dropUsageTypes(status *v1alpha1.BenchmarkRunStatus) {
	eachTarget(status, func(target *v1alpha1.TargetResult) {
		if target.Usage != nil {
			target.Usage.Types = nil
		}
	})
}
