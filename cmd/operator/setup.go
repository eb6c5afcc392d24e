package main

import (
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/storagebench/storagebench/controllers/benchmarkrun"
	"github.com/storagebench/storagebench/controllers/storagebenchmark"
	"github.com/storagebench/storagebench/controllers/workloadprofile"
	"github.com/storagebench/storagebench/internal/identity"
	"github.com/storagebench/storagebench/internal/leader"
	"github.com/storagebench/storagebench/internal/objects"
)

// parts are what controllers need beside the manager.
type parts struct {
	master    identity.Master
	candidate *leader.Candidate
}

// setup adds the controllers to the manager.
func setup(mgr ctrl.Manager, o *options, p parts) error {
	if err := workloadprofile.Setup(mgr); err != nil {
		return err
	}
	if err := storagebenchmark.Setup(mgr, storagebenchmark.Options{}); err != nil {
		return err
	}
	return benchmarkrun.Setup(mgr, benchmarkrun.Options{
		Settings: objects.Settings{
			AgentImage:        o.agentImage,
			FioImage:          o.fioImage,
			OperatorNamespace: o.namespace,
		},
		Master: p.master,
		Epoch:  p.candidate.Epoch,
	})
}
