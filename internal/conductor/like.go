package conductor

import (
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/result"
)

// likeOf is what an agent says that it has made its data like; nil where that cannot be.
func likeOf(reported *agentapi.DataSample) *result.DataSample {
	const most = 1 << 40
	if reported == nil || reported.GetFiles() > most || reported.GetBytes() > most || reported.GetRatioMilli() < 500 || reported.GetRatioMilli() > 1_000_000 ||
		reported.GetPercent() < 0 || reported.GetPercent() > 100 {
		return nil
	}
	return &result.DataSample{Files: reported.GetFiles(), Bytes: reported.GetBytes(), RatioMilli: reported.GetRatioMilli(), Percent: int(reported.GetPercent())}
}
