package agent

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/dataset"
)

// Config is the configuration that an agent reads when it starts.
type Config = tool.Config

// VolumeConfig describes a volume of the target: a mounted file system with the run's directory, or a raw device.
type VolumeConfig = tool.VolumeConfig

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
		return Config{}, fmt.Errorf("the agent's configuration lacks runUID or target")
	case config.Client < 0:
		return Config{}, fmt.Errorf("the agent's configuration has client %d; clients are numbered from 0", config.Client)
	case len(config.Volumes) == 0:
		return Config{}, fmt.Errorf("the agent's configuration has no volume")
	case config.OrphanTimeout <= 0:
		return Config{}, fmt.Errorf("the agent's configuration has no orphan timeout")
	}
	for _, volume := range config.Volumes {
		if err := dataset.CheckFolder(volume.Folder); err != nil {
			return Config{}, fmt.Errorf("volume %s in the agent's configuration: %w", volume.Name, err)
		}
	}
	return config, nil
}
