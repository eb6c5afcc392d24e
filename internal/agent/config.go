package agent

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/storagebench/storagebench/internal/dataset"
	"github.com/storagebench/storagebench/internal/identity"
)

// Config is all that an agent is told before anybody connects. It carries the agent's private key,
// so it comes by a file that only the agent can read.
type Config struct {
	RunUID  string `json:"runUID"`
	RunName string `json:"runName"`
	Target  string `json:"target"`
	Client  int    `json:"client"`

	// Listen is a host and port; port 0 takes a free one.
	Listen   string          `json:"listen"`
	Identity identity.Bundle `json:"identity"`

	Volumes []VolumeConfig `json:"volumes"`
	// BenchmarkUID and DatasetHash name the directory below each volume's path that is ours.
	Benchmark    string `json:"benchmark"`
	BenchmarkUID string `json:"benchmarkUID"`
	DatasetHash  string `json:"datasetHash"`
	// Installation is who knows whether benchmarks are there; see dataset.Owner.
	Installation string `json:"installation,omitempty"`
	// KeepData leaves the files when the agent has to leave by itself.
	KeepData bool `json:"keepData"`

	// FioPath is the program to run; empty means the fio of PATH.
	FioPath string `json:"fioPath,omitempty"`
	// OrphanTimeout is how long the agent waits for its conductor beyond the later of the last
	// command and the live step's deadline.
	OrphanTimeout time.Duration `json:"orphanTimeoutNanoseconds"`
}

// VolumeConfig is a directory that the target gives to the run.
type VolumeConfig struct {
	Name string `json:"name"`
	// Path is where the volume is mounted, which is proven to be as Expect says.
	Path   string              `json:"path"`
	Expect dataset.Expectation `json:"expect"`
	// Folder is the one inside the volume in which the run works, relative to Path; it is made where
	// it is missing. Empty is Path itself.
	Folder string `json:"folder,omitempty"`
	// Device says that the volume is a raw device, whose file is Path; then there is neither mount nor folder.
	Device bool `json:"device,omitempty"`
	// ReadOnly says that it is mounted read-only, so that no directory can be made on it.
	ReadOnly bool `json:"readOnly,omitempty"`
}

// ReadConfig decodes and checks a configuration.
func ReadConfig(r io.Reader) (Config, error) {
	decoder := json.NewDecoder(r)
	decoder.DisallowUnknownFields()
	var config Config
	if err := decoder.Decode(&config); err != nil {
		return Config{}, fmt.Errorf("decode the agent's configuration: %w", err)
	}
	switch {
	case config.RunUID == "", config.Target == "":
		return Config{}, fmt.Errorf("the agent's configuration names no run or no target")
	case config.Client < 0:
		return Config{}, fmt.Errorf("the agent's configuration has client %d; clients count from 0", config.Client)
	case len(config.Volumes) == 0:
		return Config{}, fmt.Errorf("the agent's configuration has no volume")
	case config.OrphanTimeout <= 0:
		return Config{}, fmt.Errorf("the agent's configuration has no orphan timeout")
	}
	for _, volume := range config.Volumes {
		if err := dataset.CheckFolder(volume.Folder); err != nil {
			return Config{}, fmt.Errorf("the agent's configuration, volume %s: %w", volume.Name, err)
		}
	}
	return config, nil
}
