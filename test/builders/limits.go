package builders

import (
	"testing"

	"github.com/storagebench/storagebench/internal/limits"
)

// FilerLimits is a value of the ConfigMap storagebench-limits. It adds the preset my-filer/large to the catalog.
const FilerLimits = `catalog: "ours"
sources:
  ours: {title: our own filer, url: "https://filer.example.com", asOf: "2026", read: "2026-11"}
rows:
- key: my-filer/large
  about: the filer in the cellar
  source: ours
  limits:
  - {name: server network throughput, layer: Network, baseline: 900 MB/s}
`

// CatalogWithFiler returns the built-in catalog with the additions of FilerLimits.
func CatalogWithFiler(t testing.TB) *limits.Catalog {
	t.Helper()
	builtin, err := limits.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	made, _, err := builtin.Override(map[string]string{"ours.yaml": FilerLimits})
	if err != nil {
		t.Fatal(err)
	}
	return made
}
