package main

import (
	"context"
	"errors"
	"time"

	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/storagebench/storagebench/internal/installation"
)

// reachEvery is the interval at which the operator checks its read permissions for changes since startup.
const reachEvery = time.Minute

// errReachChanged makes the operator exit when its read permissions have changed. It must restart, because it sets up
// its watches only at startup.
var errReachChanged = errors.New("the operator's read permissions have changed since startup; restarting to apply them")

// logReach logs the namespaces and kinds that the operator may not read, and the namespaces that it watches.
func (p *dependencies) logReach() {
	for _, namespace := range p.reach.Left {
		ctrl.Log.Error(nil, "Skipping a namespace without read permission: grant the operator the Role of config/namespaced/watched in that namespace, "+
			"or list the namespace in the chart's watch.namespaces", "watched", namespace)
	}
	for _, kind := range p.reach.Denied {
		ctrl.Log.Info("Not permitted to read a cluster-scoped kind: runs record less about their storage and report a warning. "+
			"To grant the permission, set watch.clusterReads=true in the chart", "kind", kind)
	}
	if len(p.reach.Namespaces) > 0 {
		ctrl.Log.Info("Watching selected namespaces only", "namespaces", p.reach.Namespaces)
	}
}

// reachWatch stops the operator when its read permissions have changed.
type reachWatch struct {
	asked   []string
	known   installation.Reach
	reviews authorizationclient.SelfSubjectAccessReviewsGetter
	// every overrides reachEvery in tests; 0 means reachEvery.
	every time.Duration
}

// NeedLeaderElection implements manager.LeaderElectionRunnable. It returns false because a standby operator also
// watches objects, and so depends on its permissions too.
func (w *reachWatch) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (w *reachWatch) Start(ctx context.Context) error {
	every := w.every
	if every == 0 {
		every = reachEvery
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(every):
		}
		now, err := installation.FindReach(ctx, w.reviews, w.asked)
		switch {
		case err != nil:
			// The current permissions are unknown. The existing watches still work, so the operator keeps running. It reports
			// missing permissions at its next start.
			ctrl.Log.Info("Keeping the current watches, because the current permissions cannot be determined", "error", err.Error())
		case !now.Equal(w.known):
			return errReachChanged
		}
	}
}
