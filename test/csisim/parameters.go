package csisim

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/test/burstfs"
	"github.com/storagebench/storagebench/test/burstfs/model"
)

// Prefix begins the simulation's own parameters and attributes.
const Prefix = "csisim/"

// The simulation's own parameters. The package comment explains them.
const (
	ScenarioParameter  = Prefix + "scenario"
	ConfigParameter    = Prefix + "config"
	OverridesParameter = Prefix + "overrides"
	StoreParameter     = Prefix + "store"
	SizeParameter      = Prefix + "size"
	InodesParameter    = Prefix + "inodes"
)

var storeNames = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,22}[a-z0-9])?$`)

// simulated holds the simulation's own parameters.
type simulated struct {
	config model.Config
	// store is empty if the volume has its own store.
	store string
	// sizeBytes is 0 if the volume is full at its capacity.
	sizeBytes int64
	// inodes is 0 for the kernel's default.
	inodes int64
}

// simulatedOf reads the simulation's own parameters and ignores others. Mutable parameters affect only the store.
func simulatedOf(parameters, mutable map[string]string, defaultScenario string) (simulated, error) {
	var s simulated
	var wrong []error
	for _, key := range slices.Sorted(keysOf(parameters)) {
		value := parameters[key]
		var err error
		switch key {
		case ScenarioParameter, ConfigParameter, OverridesParameter:
		case StoreParameter:
			if s.store = value; !storeNames.MatchString(value) {
				err = errors.New("must be small letters, digits and dashes, at most 24")
			}
		case SizeParameter:
			s.sizeBytes, err = quantity(value)
		case InodesParameter:
			s.inodes, err = quantity(value)
		default:
			if strings.HasPrefix(key, Prefix) {
				err = errors.New("is none of our parameters")
			}
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %q: %w", key, value, err))
		}
	}
	config, err := configOf(parameters, mutable, defaultScenario)
	if s.config = config; err != nil {
		wrong = append(wrong, err)
	}
	return s, errors.Join(wrong...)
}

func quantity(value string) (int64, error) {
	q, err := resource.ParseQuantity(value)
	if err != nil {
		return 0, fmt.Errorf("must be a quantity, as 64Mi: %w", err)
	}
	if n, exact := q.AsInt64(); exact && n > 0 {
		return n, nil
	}
	return 0, errors.New("must be a whole number above 0")
}

// configOf returns the configuration of the store that parameters describe.
func configOf(parameters, mutable map[string]string, defaultScenario string) (model.Config, error) {
	var config model.Config
	var err error
	name, text := parameters[ScenarioParameter], parameters[ConfigParameter]
	switch {
	case name != "" && text != "":
		return config, fmt.Errorf("%s and %s: give one of them", ScenarioParameter, ConfigParameter)
	case text != "":
		if config, err = burstfs.Parse([]byte(text)); err != nil {
			return config, fmt.Errorf("%s: %w", ConfigParameter, err)
		}
	case name != "" || defaultScenario != "":
		if name == "" {
			name = defaultScenario
		}
		if config, err = burstfs.Scenario(name); err != nil {
			return config, fmt.Errorf("%s: %w", ScenarioParameter, err)
		}
	}
	for _, overrides := range []string{parameters[OverridesParameter], mutable[OverridesParameter]} {
		if config, err = override(config, overrides); err != nil {
			return config, fmt.Errorf("%s: %w", OverridesParameter, err)
		}
	}
	return config, nil
}

// override merges YAML into a configuration.
func override(config model.Config, overrides string) (model.Config, error) {
	var over map[string]any
	if err := yaml.Unmarshal([]byte(overrides), &over); err != nil {
		return config, fmt.Errorf("reading the YAML: %w", err)
	}
	if len(over) == 0 {
		return config, nil
	}
	text, err := yaml.Marshal(config)
	if err != nil {
		return config, fmt.Errorf("writing the configuration: %w", err)
	}
	var base map[string]any
	if err := yaml.Unmarshal(text, &base); err != nil {
		return config, fmt.Errorf("reading the configuration: %w", err)
	}
	if text, err = yaml.Marshal(merged(base, over)); err != nil {
		return config, fmt.Errorf("writing the configuration: %w", err)
	}
	return burstfs.Parse(text)
}

// merged merges one value into another: maps by key, lists by the names of their entries. Other values are replaced.
func merged(base, over any) any {
	switch over := over.(type) {
	case map[string]any:
		into, ok := base.(map[string]any)
		if !ok {
			return over
		}
		for key, value := range over {
			into[key] = merged(into[key], value)
		}
		return into
	case []any:
		into, ok := base.([]any)
		if !ok || slices.ContainsFunc(over, unnamed) {
			return over
		}
		for _, value := range over {
			at := slices.IndexFunc(into, func(old any) bool { return nameOf(old) == nameOf(value) })
			if at < 0 {
				into = append(into, value)
				continue
			}
			into[at] = merged(into[at], value)
		}
		return into
	default:
		return over
	}
}

func nameOf(value any) string {
	entry, _ := value.(map[string]any)
	name, _ := entry["name"].(string)
	return name
}

func unnamed(value any) bool { return nameOf(value) == "" }

// roundUp rounds a number up to a multiple of unit.
func roundUp(n, unit int64) int64 {
	if n > math.MaxInt64-unit {
		return n / unit * unit
	}
	return (n + unit - 1) / unit * unit
}
