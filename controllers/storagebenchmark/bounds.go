package storagebenchmark

import (
	"encoding/json"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// maxStatusBytes of JSON.
const maxStatusBytes = 16 << 10

// fit makes a status that has grown too large smaller: what is told at length first, then figures,
// which the run has all of.
func fit(status *v1alpha1.StorageBenchmarkStatus) {
	if size(status) <= maxStatusBytes {
		return
	}
	const short = 160
	for i := range status.Conditions {
		status.Conditions[i].Message = v1alpha1.Truncate(status.Conditions[i].Message, short)
	}
	if status.LastRun != nil {
		status.LastRun.Message = v1alpha1.Truncate(status.LastRun.Message, short)
	}
	for len(status.Headlines) > 0 && size(status) > maxStatusBytes {
		status.Headlines = status.Headlines[1:]
	}
}

func size(status *v1alpha1.StorageBenchmarkStatus) int {
	encoded, err := json.Marshal(status)
	if err != nil {
		return 0
	}
	return len(encoded)
}
