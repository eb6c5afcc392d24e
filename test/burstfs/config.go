package burstfs

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/storagebench/storagebench/test/burstfs/model"
)

//go:embed scenarios/*.yaml
var scenarios embed.FS

// Parse reads a configuration. Unknown fields are errors.
func Parse(text []byte) (model.Config, error) {
	var config model.Config
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&config); err != nil && !errors.Is(err, io.EOF) {
		return model.Config{}, fmt.Errorf("reading the YAML: %w", err)
	}
	return config, config.Validate()
}

// Read reads a configuration from a file.
func Read(name string) (model.Config, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return model.Config{}, fmt.Errorf("reading the configuration: %w", err)
	}
	config, err := Parse(text)
	if err != nil {
		return model.Config{}, fmt.Errorf("%s: %w", name, err)
	}
	return config, nil
}

// Scenarios returns the names of all scenarios.
func Scenarios() []string {
	entries, err := scenarios.ReadDir("scenarios")
	if err != nil {
		panic(err) // the files are embedded in the program
	}
	var names []string
	for _, entry := range entries {
		names = append(names, strings.TrimSuffix(entry.Name(), ".yaml"))
	}
	return names
}

// Scenario returns the configuration of a store in scenarios/. name is the file name without .yaml.
func Scenario(name string) (model.Config, error) {
	text, err := scenarios.ReadFile(path.Join("scenarios", name+".yaml"))
	if err != nil {
		return model.Config{}, fmt.Errorf("there is no scenario %q, only %s", name, strings.Join(Scenarios(), ", "))
	}
	config, err := Parse(text)
	if err != nil {
		return model.Config{}, fmt.Errorf("scenario %s: %w", name, err)
	}
	return config, nil
}
