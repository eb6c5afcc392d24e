package volumes

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/dataset"
	"github.com/storagebench/storagebench/internal/version"
)

// describeTimeout limits the time for describing the volumes, because calls to a dead network file system hang. The sum
// of this timeout and the one for describing the tools is shorter than the conductor's timeout.
const describeTimeout = 4 * time.Second

// Set holds the volumes of a client for the lifetime of the client's agent.
type Set struct {
	env *tool.Environment
	// instance distinguishes this agent from other agents of the same client.
	instance string
	probes   probes
	holds    holds
	devices  devices
	laidOut  knownLayout
	striped  knownStriping
	// whole records the files that steps have written completely.
	whole wholeFiles
}

// New returns the volumes of an agent's configuration.
func New(env *tool.Environment) *Set {
	return &Set{env: env, instance: rand.Text()}
}

// Describe describes all volumes within one describeTimeout.
func (s *Set) Describe(ctx context.Context) []*agentapi.Volume {
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	var all []*agentapi.Volume
	for _, configured := range s.env.Config.Volumes {
		all = append(all, s.describe(ctx, configured))
	}
	return all
}

// Named returns a volume of the configuration; an empty name selects the only volume.
func (s *Set) Named(name string) (tool.VolumeConfig, error) {
	for _, volume := range s.env.Config.Volumes {
		if volume.Name == name || name == "" && len(s.env.Config.Volumes) == 1 {
			return volume, nil
		}
	}
	return tool.VolumeConfig{}, fmt.Errorf("target %s has no volume %q", s.env.Config.Target, name)
}

// Location returns the location of a client's directory on a volume.
func (s *Set) Location(client int) dataset.Location {
	return dataset.Location{
		BenchmarkUID: s.env.Config.BenchmarkUID,
		DatasetHash:  s.env.Config.DatasetHash,
		Client:       client,
	}
}

func (s *Set) owner() dataset.Owner {
	config := &s.env.Config
	return dataset.Owner{
		BenchmarkUID: config.BenchmarkUID,
		Benchmark:    config.Benchmark,
		RunUID:       config.RunUID,
		Run:          config.RunName,
		CreatedBy:    version.Version,
		Installation: config.Installation,
		Keep:         config.KeepData,
	}
}
