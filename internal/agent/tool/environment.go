package tool

import (
	"time"

	"github.com/storagebench/storagebench/internal/dataset"
	"github.com/storagebench/storagebench/internal/identity"
)

// Environment holds the settings and the clock that all tools of an agent share.
type Environment struct {
	Config   Config
	Clock    Clock
	Timeouts Timeouts
	// Path is the PATH in which to search for programs.
	Path string
}

// Clock reads the clocks of this machine, in nanoseconds.
type Clock interface {
	// Monotonic returns the time of a clock that never jumps. Its zero point is arbitrary.
	Monotonic() int64
	// Wall returns the time since the Unix epoch. The tool's timestamps use this clock.
	Wall() int64
}

// Config is the configuration that an agent reads when it starts. It contains the agent's private key, so it is passed
// in a file that only the agent can read.
type Config struct {
	RunUID  string `json:"runUID"`
	RunName string `json:"runName"`
	Target  string `json:"target"`
	Client  int    `json:"client"`

	// Listen is the host and port at which the agent listens. Port 0 selects a free port.
	Listen   string          `json:"listen"`
	Identity identity.Bundle `json:"identity"`

	Volumes []VolumeConfig `json:"volumes"`
	// BenchmarkUID and DatasetHash determine the path of the run's directory on each volume.
	Benchmark    string `json:"benchmark"`
	BenchmarkUID string `json:"benchmarkUID"`
	DatasetHash  string `json:"datasetHash"`
	// Installation identifies the operator that manages the benchmark object. That operator knows whether the object
	// still exists; see dataset.Owner.
	Installation string `json:"installation,omitempty"`
	// KeepData is true if the data is kept after the run. The agent then marks the data as kept, and does not remove it
	// when the agent exits on its own.
	KeepData bool `json:"keepData"`

	// FioPath is the path of fio. If it is empty, the agent searches PATH for fio.
	FioPath string `json:"fioPath,omitempty"`
	// OrphanTimeout limits how long the agent waits for its conductor after the last command or the current step's
	// deadline, whichever is later.
	OrphanTimeout time.Duration `json:"orphanTimeoutNanoseconds"`
}

// VolumeConfig describes a volume of the target: a mounted file system with the run's directory, or a raw device.
type VolumeConfig struct {
	Name string `json:"name"`
	// Path is the mount path of the volume; the agent checks that the mount matches Expect.
	Path   string              `json:"path"`
	Expect dataset.Expectation `json:"expect"`
	// Folder is the run's directory in the volume, relative to Path. The agent creates the directory if it is missing. If
	// Folder is empty, the run uses Path itself.
	Folder string `json:"folder,omitempty"`
	// Device is true if the volume is a raw device whose file is Path; it has neither a mount nor a directory.
	Device bool `json:"device,omitempty"`
	// ReadOnly is true if the volume is mounted read-only, so that no directory can be created on it.
	ReadOnly bool `json:"readOnly,omitempty"`
}
