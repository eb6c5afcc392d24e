package agent

import (
	"testing"
)

func TestUsageAtTheEnd(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	load := lays("prepare", "x")
	load.Dataset.MeasureUsage = true
	ended, _ := r.run(load, noLimit)
	usage := ended.GetUsage()
	if usage.GetApparentBytes() != 1<<20 || usage.GetAllocatedBytes() < 1<<20 || usage.GetFiles() != 1 || usage.GetFilesystemType() == "" ||
		len(usage.GetTypes()) != 1 || usage.GetTypes()[0].GetApparentBytes() != 1<<20 || !usage.GetSettled() {
		t.Errorf("got %v", ended)
	}
	ended, _ = r.run(writes("write", "x", quickWrite), noLimit)
	if ended.GetUsage() != nil {
		t.Errorf("nobody asked, and it tells %v", ended.GetUsage())
	}
}
