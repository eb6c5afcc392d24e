package sim_test

import (
	"testing"
	"time"

	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/soak"
)

// longScenarios simulate hours of samples at gigabytes per second. Together, they take a minute of CPU time.
var longScenarios = []scenario{
	{name: "fsx-lustre-none", store: model.Config{Latency: model.Latency{Fixed: 500 * time.Microsecond}, Buckets: []model.Bucket{
		{Name: "network", Counts: model.CountsBytes, ServesCache: true, BaselinePerSecond: 11428e6, BurstPerSecond: 12460e6, Size: 1032e6 * 28800},
		bytes("disk", 3560e6, 0, 0, 0)}},
		load: load(sequential, 0, "1Mi", 256), phases: steady("12h"), blocks: 256, clients: 1},
	{name: "fsx-lustre-lz4", store: model.Config{Latency: model.Latency{Fixed: 500 * time.Microsecond}, Buckets: []model.Bucket{
		{Name: "network", Counts: model.CountsBytes, ServesCache: true, BaselinePerSecond: 11428e6, BurstPerSecond: 12460e6, Size: 1032e6 * 28800},
		{Name: "disk", Counts: model.CountsBytes, BaselinePerSecond: 3560e6, CompressionRatio: 3.75}}},
		load: load(sequential, 0, "1Mi", 256), phases: drain("30m", "12h"), blocks: 512, clients: 1, drains: "network"},
	{name: "fsx-windows-32-hdd-volume", store: model.Config{Latency: model.Latency{Fixed: time.Millisecond}, Buckets: []model.Bucket{
		bytes("volume", 12*1048576, 80*1048576, tebibyte, 0)}},
		load: load(sequential, 0, "1Mi", 32), phases: drain("10m", "6h"), blocks: 2, clients: 1, drains: "volume"},
}

func TestLongScenarios(t *testing.T) {
	soak.Only(t)
	carryOut(t, longScenarios)
}
