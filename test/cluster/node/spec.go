package node

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// Spec describes a node.
type Spec struct {
	Hostname string `json:"hostname"`
	// Var is the folder that becomes the node's /var.
	Var string `json:"var"`
	// Folders maps paths below the node's /var to folders of the machine that are mounted there.
	Folders map[string]string `json:"folders,omitempty"`
	// Programs maps the names of programs in the node to their paths on the machine.
	Programs map[string]string `json:"programs"`
	// Sysctls maps kernel settings, as paths below /proc/sys, to the values that processes in the node read. The machine
	// keeps its own values.
	Sysctls map[string]string `json:"sysctls"`
	// Network lists the commands that set up the network.
	Network [][]string `json:"network"`
	// Components are started in this order, each one when the components in its After are ready.
	Components []Component `json:"components"`
	// LogFolder is the folder for the logs of the components.
	LogFolder string `json:"logFolder"`
	// StatusFile is the file to which the Status is written, relative to Var.
	StatusFile string `json:"statusFile"`
}

// Component is a program that runs as long as the node does.
type Component struct {
	Name    string   `json:"name"`
	Command []string `json:"command"`
	// After names the components that must be ready before this one starts.
	After []string `json:"after,omitempty"`
	Ready Probe    `json:"ready"`
}

// Probe determines whether a component is ready. A component with an empty Probe is ready as soon as it runs.
type Probe struct {
	// URL answers with status 200 if the component is ready.
	URL string `json:"url,omitempty"`
	// Socket is a Unix socket that accepts connections if the component is ready.
	Socket string `json:"socket,omitempty"`
}

// Status is the current state of the node.
type Status struct {
	// Error is the reason why the node could not be set up. If it is set, no component runs.
	Error      string            `json:"error,omitempty"`
	Components []ComponentStatus `json:"components,omitempty"`
}

// ComponentStatus is the current state of a component.
type ComponentStatus struct {
	Name string `json:"name"`
	// PID is the PID of the component's process in the node's PID namespace, or 0 if it is not running.
	PID       int       `json:"pid"`
	StartedAt time.Time `json:"startedAt,omitzero"`
	Ready     bool      `json:"ready"`
	Restarts  int       `json:"restarts"`
	// LastExit describes how the component last ended, such as "exit code 1".
	LastExit string `json:"lastExit,omitempty"`
}

// Ready reports whether all components are ready.
func (s Status) Ready() bool {
	if s.Error != "" || len(s.Components) == 0 {
		return false
	}
	for _, component := range s.Components {
		if !component.Ready {
			return false
		}
	}
	return true
}

func readSpec(path string) (Spec, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Spec{}, fmt.Errorf("reading what the node is made from: %w", err)
	}
	var spec Spec
	if err := json.Unmarshal(data, &spec); err != nil {
		return Spec{}, fmt.Errorf("reading what the node is made from, %s: %w", path, err)
	}
	return spec, nil
}

// write replaces the status file atomically, so that readers never see an incomplete status.
func (s Status) write(folder *os.Root, path string) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the status of the node: %w", err)
	}
	if err := folder.WriteFile(path+".new", data, 0o644); err != nil {
		return fmt.Errorf("writing the status of the node: %w", err)
	}
	if err := folder.Rename(path+".new", path); err != nil {
		return fmt.Errorf("writing the status of the node: %w", err)
	}
	return nil
}
