package node

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// Spec is all that a node is made from.
type Spec struct {
	// Hostname is the name of the node.
	Hostname string `json:"hostname"`
	// Var is the folder that becomes the node's /var.
	Var string `json:"var"`
	// Folders are folders of the machine by the paths below /var where the node
	// sees them too.
	Folders map[string]string `json:"folders,omitempty"`
	// Programs are paths of programs on the machine by the names that the node
	// finds them by.
	Programs map[string]string `json:"programs"`
	// Sysctls are kernel settings, as paths below /proc/sys, that the node
	// sees with these values while the machine keeps its own.
	Sysctls map[string]string `json:"sysctls"`
	// Network is the commands that set the network up.
	Network [][]string `json:"network"`
	// Components are started in this order, each when those that it comes
	// after are ready.
	Components []Component `json:"components"`
	// LogFolder is where the output of the components goes.
	LogFolder string `json:"logFolder"`
	// StatusFile is where the Status goes, relative to Var.
	StatusFile string `json:"statusFile"`
}

// Component is a program that runs as long as the node does.
type Component struct {
	Name    string   `json:"name"`
	Command []string `json:"command"`
	// After names the components that have to be ready before it starts.
	After []string `json:"after,omitempty"`
	Ready Probe    `json:"ready"`
}

// Probe says when a component is ready. Without either it is when it runs.
type Probe struct {
	// URL answers 200.
	URL string `json:"url,omitempty"`
	// Socket takes connections.
	Socket string `json:"socket,omitempty"`
}

// Status is what the node is at.
type Status struct {
	// Error is why the node could not be made; nothing runs then.
	Error      string            `json:"error,omitempty"`
	Components []ComponentStatus `json:"components,omitempty"`
}

// ComponentStatus is what a component is at.
type ComponentStatus struct {
	Name string `json:"name"`
	// PID is its process as the node sees it; 0 when it does not run.
	PID       int       `json:"pid"`
	StartedAt time.Time `json:"startedAt,omitzero"`
	Ready     bool      `json:"ready"`
	Restarts  int       `json:"restarts"`
	// LastExit is how it ended last.
	LastExit string `json:"lastExit,omitempty"`
}

// Ready reports whether every component is.
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

// write puts a status in place as a whole, so that readers see no half of it.
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
