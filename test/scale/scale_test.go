package scale

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/test/controlplane"
)

func TestMain(m *testing.M) {
	controlplane.Main(m, func(administrator *rest.Config) (int, error) {
		folder, err := os.MkdirTemp("", "storagebench-scale-")
		if err != nil {
			return 1, err
		}
		defer os.RemoveAll(folder)
		server = administrator
		ctrl.SetLogger(logr.Discard())
		if err := prepare(context.Background(), folder); err != nil {
			return 1, err
		}
		return m.Run(), nil
	})
}

// TestCounts checks that the operator counts each sample of several runs exactly once, and that nothing is left of the
// runs.
func TestCounts(t *testing.T) {
	w := newWorld(t)
	w.operate()
	var all []*state
	for i, length := range []time.Duration{time.Second, 4 * time.Second, 4 * time.Second} {
		all = append(all, w.benchmark("counts", fmt.Sprintf("b%d", i), fmt.Sprintf("claim-%d", i), 8, length))
	}
	for _, one := range all {
		w.await(one)
		w.resultsOf(one)
	}
	w.nothingLeft()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.wrong {
		t.Error(one)
	}
	if w.checked != len(all) {
		t.Errorf("compared %d runs of %d", w.checked, len(all))
	}
}

// TestDifference checks that lost samples, duplicate samples and samples with the wrong phase are reported.
func TestDifference(t *testing.T) {
	t.Parallel()
	sent := newLedger("n", "b", "r")
	sent.sampled("load", []measure.Operation{measure.Read, measure.Write}, measure.Counter{Bytes: 8, Operations: 2}, false)
	sent.sampled("load", []measure.Operation{measure.Read}, measure.Counter{Bytes: 4, Operations: 1}, true)
	text := `# TYPE storagebench_run_samples_total counter
storagebench_run_samples_total{benchmark="b",namespace="n",run="r",target="data"} %d
storagebench_run_bytes_total{benchmark="b",namespace="n",operation="Read",phase="%s",run="r",target="data"} 12
storagebench_run_bytes_total{benchmark="b",namespace="n",operation="Write",phase="load",run="r",target="data"} 8
storagebench_run_operations_total{benchmark="b",namespace="n",operation="Read",phase="%[2]s",run="r",target="data"} %[3]d
storagebench_run_operations_total{benchmark="b",namespace="n",operation="Write",phase="load",run="r",target="data"} 2
`
	for name, test := range map[string]struct {
		samples int
		phase   string
		reads   int
		want    string
	}{
		"all":        {2, "load", 3, ""},
		"one lost":   {1, "load", 2, "1 samples of 2; Read of load: {Bytes:12 Operations:2} of {Bytes:12 Operations:3}"},
		"one twice":  {3, "load", 4, "3 samples of 2; Read of load: {Bytes:12 Operations:4} of {Bytes:12 Operations:3}"},
		"wrong name": {2, "layout", 3, "Read of layout: {Bytes:12 Operations:3} of {Bytes:0 Operations:0}; Read of load: {Bytes:0 Operations:0} of {Bytes:12 Operations:3}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := tallies(parse(fmt.Sprintf(text, test.samples, test.phase, test.reads)))[types.NamespacedName{Namespace: "n", Name: "r"}]
			if why := sent.told.difference(got.tally); why != test.want {
				t.Errorf("%q, want %q", why, test.want)
			}
		})
	}
}
