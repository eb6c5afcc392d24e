package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkUsage measures the cost of one disk usage measurement, which runs between two phases.
func BenchmarkUsage(b *testing.B) {
	for _, files := range []int{8, 1000} {
		b.Run(fmt.Sprintf("%d files", files), func(b *testing.B) {
			path := b.TempDir()
			mount, err := ProveMount(path, Expectation{})
			if err != nil {
				b.Fatal(err)
			}
			location := Location{BenchmarkUID: "benchmark", DatasetHash: "hash"}
			d, err := Create(mount, location, Owner{BenchmarkUID: "benchmark"})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = d.Close() }()
			for i := range files {
				if err := os.WriteFile(filepath.Join(d.Path(), fmt.Sprintf("data.%08d", i)), make([]byte, 4096), 0o600); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				if _, _, err := d.usage(b.Context(), MaxUsageFiles); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
