package engine

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Overrides replaces values of a workload in a step of a ramp or sweep. A field that is 0 or nil replaces nothing.
type Overrides struct {
	Jobs, QueueDepth int32
	BlockSizeBytes   int64
	ReadPercent      *int32
	// Processes is the number of ranks per client. Only a ramp over the number of ranks sets it; see Step.Processes.
	Processes int32
	// Operation is the operation that the step performs on each small file: Create, Write, Stat, Read or Delete. It is
	// empty outside of smallFiles phases.
	Operation v1alpha1.Operation
	// LayoutJobs is the largest number of jobs in any step of the run that uses the same files as this step. It is set
	// if steps raise the number of jobs and each job has its own files. Steps with fewer jobs then use only some of the
	// files.
	LayoutJobs int32
	// Offer makes the load an open loop. Only a search phase sets it.
	Offer Offer
}

// Offer is a load of operations that arrive at random (a Poisson process), whether or not earlier ones have completed.
type Offer struct {
	// IOPS is the rate of each client in operations per second; 0 for a closed loop.
	IOPS int64
	// Latency is the highest latency of the store at which operations must still arrive at the offered rate. It
	// determines the number of jobs.
	Latency time.Duration
}

// String lists the overrides, such as "jobs 4, readPercent 0".
func (o Overrides) String() string { return strings.Join(o.Words(), ", ") }

// Words returns one text for each override, such as "jobs 4".
func (o Overrides) Words() []string {
	var words []string
	add := func(name string, value any) { words = append(words, fmt.Sprintf("%s %v", name, value)) }
	if o.Jobs != 0 {
		add("jobs", o.Jobs)
	}
	if o.QueueDepth != 0 {
		add("queueDepth", o.QueueDepth)
	}
	if o.BlockSizeBytes != 0 {
		add("blockSize", resource.NewQuantity(o.BlockSizeBytes, resource.BinarySI))
	}
	if o.ReadPercent != nil {
		add("readPercent", *o.ReadPercent)
	}
	if o.Processes != 0 {
		add("processes", o.Processes)
	}
	if o.Operation != "" {
		words = append(words, strings.ToLower(string(o.Operation)))
	}
	if o.Offer.IOPS != 0 {
		add("offered per client", fmt.Sprintf("%d/s", o.Offer.IOPS))
	}
	return words
}
