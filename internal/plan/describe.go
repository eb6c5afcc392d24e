package plan

import (
	"fmt"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine/fio"
)

// maxDescribed is how many files are remembered over all data sets: a specification may have workloads of
// a hundred thousand files for each target and phase.
const maxDescribed = 500_000

// filesKey is what the files of a load follow from. All cells of a sweep share one.
type filesKey struct {
	profile    *v1alpha1.FioProfile
	layoutJobs int32
	// deep: more than one operation at a time, of which fio has something to say.
	deep bool
}

func filesOf(profile *v1alpha1.FioProfile, o Overrides) filesKey {
	return filesKey{profile: profile, layoutJobs: o.LayoutJobs, deep: o.QueueDepth > 1}
}

// describe tells of the files of a load and what is the same in all its steps.
func (m *maker) describe(profile *v1alpha1.FioProfile, o Overrides) (*fio.Traits, error) {
	key := filesOf(profile, o)
	if known := m.described[key]; known != nil {
		return known, nil
	}
	parameters := fio.Parameters{Purpose: fio.Measure, LayoutJobs: o.LayoutJobs}
	if key.deep {
		parameters.QueueDepth = o.QueueDepth
	}
	if o.LayoutJobs > 0 {
		parameters.Jobs = 1 // the workload's own number may be larger than any that is used
	}
	traits, err := fio.DescribeStep(profile, parameters)
	if err != nil {
		return nil, fmt.Errorf("the files of the workload: %w", err)
	}
	if m.files += len(traits.FileSizes); m.files > maxDescribed {
		clear(m.described)
		m.files = len(traits.FileSizes)
	}
	m.described[key] = &traits
	return &traits, nil
}

// reads reports whether the load reads what is in files.
func reads(profile *v1alpha1.FioProfile, traits *fio.Traits, o Overrides) bool {
	if o.ReadPercent != nil && profile.JobFile == "" {
		return *o.ReadPercent > 0 && !traits.NoStorage
	}
	return traits.Reads
}

// renderKey is what a job file follows from, beside the client and the seed.
type renderKey struct {
	profile                      *v1alpha1.FioProfile
	purpose                      Purpose
	jobs, queueDepth, layoutJobs int32
	blockSizeBytes               int64
	readPercent                  int32
	duration, warmUp             int64
}

func renderOf(profile *v1alpha1.FioProfile, step *Step) renderKey {
	o := step.Overrides
	key := renderKey{
		profile: profile, purpose: step.Purpose, jobs: o.Jobs, queueDepth: o.QueueDepth, layoutJobs: o.LayoutJobs,
		blockSizeBytes: o.BlockSizeBytes, readPercent: -1, duration: int64(step.Duration), warmUp: int64(step.WarmUp),
	}
	if o.ReadPercent != nil {
		key.readPercent = *o.ReadPercent
	}
	return key
}
