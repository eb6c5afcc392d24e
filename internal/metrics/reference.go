package metrics

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

const referenceHead = `# Metrics

Generated from internal/metrics by ` + "`make generate`" + `. Do not edit. Scraping, alerts and dashboards:
[Prometheus](../prometheus.md).

All names begin with ` + "`storagebench_`" + `. Metrics of a benchmark are exported until it is deleted, metrics of a
run until it ends. Results are exported only if the newest run is complete and valid. Results of ramps and sweeps are
not exported, because each step would be a series: see the run's status.
`

const referenceTail = `
## Other metrics

| metric | type | labels | meaning |
| --- | --- | --- | --- |
| ` + "`storagebench_limits_catalog_valid`" + ` | gauge | | 1 if the ConfigMap of documented limits is valid or absent, 0 if it is invalid or cannot be read and the last valid limits are in use. |

The operator also exports the metrics of controller-runtime (` + "`controller_runtime_*`, `workqueue_*`, `rest_client_*`" + `) and of Go and the
process (` + "`go_*`, `process_*`" + `).
`

// Reference returns the content of docs/reference/metrics.md.
func Reference() []byte {
	var text bytes.Buffer
	text.WriteString(referenceHead)
	for _, group := range []Group{GroupBenchmark, GroupResults, GroupRun, GroupLive, GroupOperator} {
		fmt.Fprintf(&text, "\n## %s\n\n| metric | type | labels | meaning |\n| --- | --- | --- | --- |\n", group)
		for _, family := range families {
			if family.Group != group {
				continue
			}
			kind := "gauge"
			if family.Kind == prometheus.CounterValue {
				kind = "counter"
			}
			fmt.Fprintf(&text, "| `%s` | %s | %s | %s |\n", family.FullName(), kind, strings.Join(family.Labels, ", "), family.Help)
		}
	}
	text.WriteString(referenceTail)
	return text.Bytes()
}
