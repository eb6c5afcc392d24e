package main

import (
	"context"
	"errors"
	"time"

	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/storagebench/storagebench/internal/installation"
)

// reachEvery is how often the operator asks whether it may read more than at its start, or less.
const reachEvery = time.Minute

// errReachChanged ends an operator whose rights have changed: what is watched is set up once, at the start.
var errReachChanged = errors.New("what this operator may read has changed since its start; the next start watches what it may read now")

// tellReach logs what is out of reach.
func (p *parts) tellReach() {
	for _, namespace := range p.reach.Left {
		ctrl.Log.Error(nil, "Leaving out a namespace that may not be read: give the operator the Role of config/namespaced/watched there, "+
			"or name it in the chart's watch.namespaces", "watched", namespace)
	}
	for _, kind := range p.reach.Denied {
		ctrl.Log.Info("Doing without a kind of the cluster that may not be read: runs know less of their storage, and say so; "+
			"the chart's watch.clusterReads gives the right", "kind", kind)
	}
	if len(p.reach.Namespaces) > 0 {
		ctrl.Log.Info("Watching some namespaces only", "namespaces", p.reach.Namespaces)
	}
}

// reachWatch ends the operator when its reach has changed.
type reachWatch struct {
	asked   []string
	known   installation.Reach
	reviews authorizationclient.SelfSubjectAccessReviewsGetter
	// every is a shorter time in tests; 0 is reachEvery.
	every time.Duration
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: one that stands by has watches too.
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
			// Nothing is out of order as long as the watches go on; the start says what is wrong with the rights.
			ctrl.Log.Info("Keeping what is watched, since it is not known what may be read now", "error", err.Error())
		case !now.Equal(w.known):
			return errReachChanged
		}
	}
}
