package e2e

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/cluster/burst"
)

// burstClaim creates a store with a configuration, and a claim for it in the space. Both are removed when the test
// ends.
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

// removeBurstVolumes removes volumes whose store no longer exists, which killed tests leave behind.
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
