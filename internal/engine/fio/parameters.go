package fio

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine"
)

// Purpose is the kind of step that a job runs.
type Purpose int

const (
	// Measure runs the load for a given time, on existing files.
	Measure Purpose = iota + 1
	// Prepare writes every byte of every file once, in order, and flushes the files.
	Prepare
	// Precondition overwrites the whole dataset with the load's own block size and pattern.
	Precondition
)

// Parameters are the settings that a step adds to a profile.
type Parameters struct {
	Purpose Purpose
	// Duration is the measured time, which begins after WarmUp. Both apply only to Measure.
	Duration time.Duration
	WarmUp   time.Duration
	// Overrides cannot be combined with a job file.
	engine.Overrides
	// Volumes is the number of the target's volumes; 0 counts as 1. Devices is true if they are raw block devices. See
	// spread.
	Volumes int
	Devices bool
	// Passes is the number of passes of Precondition; 0 counts as 1.
	Passes int32
	// Seed is the seed of the step. It is combined with ClientIndex, so that each client has its own random numbers.
	Seed        uint64
	ClientIndex int
}

// overrides reports whether the step replaces values of the profile.
func (p *Parameters) overrides() bool {
	return p.Jobs != 0 || p.QueueDepth != 0 || p.BlockSizeBytes != 0 || p.ReadPercent != nil || p.LayoutJobs != 0 || p.Offer.IOPS != 0
}

// apply returns the profile with the step's overrides.
func (p *Parameters) apply(profile *v1alpha1.FioProfile) (*v1alpha1.FioProfile, error) {
	if !p.overrides() {
		return profile, nil
	}
	if profile.JobFile != "" {
		return nil, fmt.Errorf("the jobFile determines jobs, queue depth, block size and mix, so a ramp or sweep cannot change them: use the typed fields of the profile instead")
	}
	applied := *profile
	if p.Jobs != 0 {
		applied.Jobs = &p.Jobs
	}
	if p.QueueDepth != 0 {
		applied.QueueDepth = &p.QueueDepth
	}
	if p.BlockSizeBytes != 0 {
		applied.BlockSize = resource.NewQuantity(p.BlockSizeBytes, resource.BinarySI)
	}
	if p.ReadPercent != nil {
		applied.ReadPercent = p.ReadPercent
	}
	if p.Offer.IOPS != 0 {
		return openLoop(&applied, p.Offer)
	}
	return &applied, nil
}

// seed mixes the step's seed, the client and the purpose into a seed for fio, with splitmix64 by Sebastiano Vigna. The
// result is positive, because with 0 all jobs would use the same sequence of random numbers.
func (p *Parameters) seed() uint64 {
	mixed := p.Seed
	for _, more := range []uint64{uint64(p.ClientIndex), uint64(p.Purpose)} { // #nosec G115 -- any bits are a seed
		mixed += more*0xbf58476d1ce4e5b9 + 0x9e3779b97f4a7c15
		mixed = (mixed ^ mixed>>30) * 0xbf58476d1ce4e5b9
		mixed = (mixed ^ mixed>>27) * 0x94d049bb133111eb
		mixed ^= mixed >> 31
	}
	return mixed>>2 | 1
}
