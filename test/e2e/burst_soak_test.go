package e2e

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/burstfs"
	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/burstfs/truth"
	"github.com/storagebench/storagebench/test/cluster/burst"
	"github.com/storagebench/storagebench/test/soak"
)

// offPercent is by how much a figure may be off the store's own record.
const offPercent = 5

// burstClaim makes a store of a configuration and a claim for it in the space. Both go with the test.
func (s *space) burstClaim(claim string, config model.Config) *burst.Mounted {
	s.Helper()
	removeBurstVolumes(s)
	store := burst.Mount(s.T, s.State, s.namespace+"-"+claim, config)
	volume := store.Volume(s.namespace, claim)
	must(s.T, s.api.Create(s.Context(), volume))
	s.Cleanup(func() {
		if err := s.api.Delete(context.Background(), volume); client.IgnoreNotFound(err) != nil {
			s.Error(err)
		}
	})
	s.create(store.Claim(s.namespace, claim))
	return store
}

// removeBurstVolumes removes what tests have left that were killed: volumes whose store is not there any more.
func removeBurstVolumes(s *space) {
	s.Helper()
	var volumes corev1.PersistentVolumeList
	must(s.T, s.api.List(s.Context(), &volumes, client.HasLabels{burst.Label}))
	alive, err := burst.List(s.State)
	must(s.T, err)
	names := map[string]bool{}
	for _, name := range alive {
		names[name] = true
	}
	for i := range volumes.Items {
		if !names[volumes.Items[i].Labels[burst.Label]] {
			must(s.T, client.IgnoreNotFound(s.api.Delete(s.Context(), &volumes.Items[i])))
		}
	}
}

// scenario is one of test/burstfs.
func scenario(t testing.TB, name string) model.Config {
	t.Helper()
	config, err := burstfs.Scenario(name)
	must(t, err)
	return config
}

// hold compares a run with the record of its store, figure by figure.
func (s *space) hold(title string, store *burst.Mounted, config model.Config, run *v1alpha1.BenchmarkRun) []truth.Row {
	s.Helper()
	time.Sleep(time.Second) // so that the second in which the run ended is complete
	rows := truth.Compare(store.Truth(), config, run.Status)
	soak.Report(s.T, title, "%s", truth.Table(rows))
	for _, row := range rows {
		if row.Off(offPercent) {
			s.Errorf("%s: %s is %g, the store's record says %g: %+.2f %%", row.Phase, row.Figure, row.Ours, row.Truth, row.OffPercent())
		}
	}
	return rows
}

// Pods on a store of known limits measure these limits.
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
