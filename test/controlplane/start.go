package controlplane

import (
	"context"
	"fmt"
	"io"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/storagebench/storagebench/test/binaries"
)

const (
	// startTimeout is a hang guard: on a machine whose cores are all busy a start takes minutes.
	startTimeout = 10 * time.Minute
	stopTimeout  = 30 * time.Second
)

// ControlPlane is a running etcd and kube-apiserver with our kinds installed.
type ControlPlane struct {
	// Config connects as an administrator.
	Config *rest.Config

	environment *envtest.Environment
}

// Start builds what is missing, starts both programs and installs the
// CustomResourceDefinitions. Stop has to be called.
func Start(ctx context.Context, progress io.Writer) (*ControlPlane, error) {
	programs, err := binaries.Build(ctx, progress, binaries.ControlPlane()...)
	if err != nil {
		return nil, err
	}
	root, err := binaries.RepositoryRoot()
	if err != nil {
		return nil, err
	}
	environment := &envtest.Environment{
		CRDDirectoryPaths:        []string{root + "/config/crd/bases"},
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: startTimeout,
		ControlPlaneStopTimeout:  stopTimeout,
		// Only what is built here, whatever the environment says.
		UseExistingCluster: new(bool),
	}
	environment.ControlPlane.Etcd = &envtest.Etcd{Path: programs[binaries.Etcd]}
	environment.ControlPlane.GetAPIServer().Path = programs[binaries.APIServer]
	config, err := environment.Start()
	if err != nil {
		_ = environment.Stop()
		return nil, fmt.Errorf("starting etcd and kube-apiserver: %w", err)
	}
	return &ControlPlane{Config: config, environment: environment}, nil
}

// Stop ends both programs and removes their data.
func (c *ControlPlane) Stop() error {
	if err := c.environment.Stop(); err != nil {
		return fmt.Errorf("stopping etcd and kube-apiserver: %w", err)
	}
	return nil
}
