package conductor

import (
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/engine"
)

// dataSampleOf converts the agent's report on the user data that the load imitates (compressLike). It returns nil for
// an implausible report.
func dataSampleOf(reported *agentapi.DataSample) *engine.DataSample {
	const most = 1 << 40
	if reported == nil || reported.GetFiles() > most || reported.GetBytes() > most || reported.GetRatioMilli() < 500 || reported.GetRatioMilli() > 1_000_000 ||
		reported.GetPercent() < 0 || reported.GetPercent() > 100 {
		return nil
	}
	return &engine.DataSample{Files: reported.GetFiles(), Bytes: reported.GetBytes(), RatioMilli: reported.GetRatioMilli(), Percent: int(reported.GetPercent())}
}
