package storagebenchmark

import (
	"encoding/json"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/trend"
)

// maxStatusBytes is the maximum size of the status as JSON.
const maxStatusBytes = 16 << 10

// fit shrinks a status that is too large. It first shortens texts. It then drops figures, because they remain in the
// status of the run. It drops history last, because later runs are compared with it.
func fit(status *v1alpha1.StorageBenchmarkStatus) {
	for _, less := range []func(*v1alpha1.StorageBenchmarkStatus){
		shortenConditions, shortenObjectives(160), dropDifferences, shortenObjectives(60), dropHeadlines, shortenObjectives(0), dropHistory,
	} {
		if size(status) <= maxStatusBytes {
			return
		}
		less(status)
	}
}

func shortenConditions(status *v1alpha1.StorageBenchmarkStatus) {
	const short = 160
	for i := range status.Conditions {
		status.Conditions[i].Message = v1alpha1.Truncate(status.Conditions[i].Message, short)
	}
	if status.LastRun != nil {
		status.LastRun.Message = v1alpha1.Truncate(status.LastRun.Message, short)
	}
	if status.Regression != nil {
		status.Regression.Message = v1alpha1.Truncate(status.Regression.Message, short)
	}
}

// shortenObjectives truncates each text in the results of objectives to the given length. It keeps the numbers.
func shortenObjectives(length int) func(*v1alpha1.StorageBenchmarkStatus) {
	return func(status *v1alpha1.StorageBenchmarkStatus) {
		for i := range status.Objectives {
			one := &status.Objectives[i]
			one.Message, one.Figure = v1alpha1.Truncate(one.Message, length), v1alpha1.Truncate(one.Figure, length)
		}
	}
}

func dropDifferences(status *v1alpha1.StorageBenchmarkStatus) {
	if status.Regression != nil {
		for i := range status.Regression.Changes {
			status.Regression.Changes[i].Differences = nil
		}
	}
}

func dropHeadlines(status *v1alpha1.StorageBenchmarkStatus) {
	for len(status.Headlines) > 0 && size(status) > maxStatusBytes {
		status.Headlines = status.Headlines[1:]
	}
}

// dropHistory drops the oldest runs of the history, four at a time, until the status fits.
func dropHistory(status *v1alpha1.StorageBenchmarkStatus) {
	const step = 4
	for status.History != nil && len(status.History.Runs) > 0 && size(status) > maxStatusBytes {
		status.History = trend.Trim(status.History, max(0, len(status.History.Runs)-step))
	}
}

func size(status *v1alpha1.StorageBenchmarkStatus) int {
	encoded, err := json.Marshal(status)
	if err != nil {
		return 0
	}
	return len(encoded)
}
