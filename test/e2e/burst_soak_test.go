package e2e

import (
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/burstfs"
	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/burstfs/truth"
	"github.com/storagebench/storagebench/test/cluster/burst"
	"github.com/storagebench/storagebench/test/soak"
)

// offPercent limits the error of a figure, in percent of the store's own record.
const offPercent = 5

func scenario(t testing.TB, name string) model.Config {
	t.Helper()
	config, err := burstfs.Scenario(name)
	must(t, err)
	return config
}

// hold compares a run with the record of its store, figure by figure.
func (s *space) hold(title string, store *burst.Mounted, config model.Config, run *v1alpha1.BenchmarkRun) []truth.Row {
	s.Helper()
	time.Sleep(time.Second) // until the second in which the run ended is complete
	rows := truth.Compare(store.Truth(), config, run.Status)
	soak.Report(s.T, title, "%s", truth.Table(rows))
	judge(s.T, rows)
	return rows
}

// TestSteadyOnBurst checks that the figures of two pods on a throttled store agree with the store's record.
func TestSteadyOnBurst(t *testing.T) {
	soak.Only(t)
	requireNode(t)
	s := newSpace(t)
	config := scenario(t, "azure-p30")
	store := s.burstClaim("data", config)
	s.apply(builders.Benchmark("steady").Target("data").Clients(2).Prepare("layout").
		Steady("write", "8s").WarmUp("1s").
		Steady("read", "8s").With(builders.Fio().Reads()).Obj())
	run := s.ended(2 * time.Minute)
	s.log(run)
	s.hold("Two pods on azure-p30", store, config, run)
	s.clean()
}
