package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// StateVariable is the environment variable with the path of the state folder.
const StateVariable = "STORAGEBENCH_CLUSTER_STATE"

// State is the state folder of a cluster. It contains all files that the cluster writes.
type State struct {
	folder string
}

// record describes a cluster that was started. It is written before the node runs, so that the next up or down finds
// what remains of the cluster, whichever process died.
type record struct {
	// Init is process 1 of the first node. Workers holds process 1 of each other node; it is empty for a node that was
	// never started.
	Init    process   `json:"init"`
	Workers []process `json:"workers,omitempty"`
	Network network   `json:"network"`
	// Complete is true after the cluster has once come up completely.
	Complete  bool      `json:"complete"`
	StartedAt time.Time `json:"startedAt"`
}

// process returns process 1 of a node.
func (r record) process(m Member) process {
	if m.place == 0 {
		return r.Init
	}
	if m.place > len(r.Workers) {
		return process{}
	}
	return r.Workers[m.place-1]
}

// with returns a copy of the record with a new process 1 of a node.
func (r record) with(m Member, init process) record {
	if m.place == 0 {
		r.Init = init
		return r
	}
	r.Workers = slices.Clone(r.Workers)
	r.Workers[m.place-1] = init
	return r
}

// DefaultState returns the default state folder: STORAGEBENCH_CLUSTER_STATE if it is set, else a folder below
// XDG_STATE_HOME, else one in /var/lib.
func DefaultState() string {
	if folder := os.Getenv(StateVariable); folder != "" {
		return folder
	}
	if home := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, "storagebench-test")
	}
	return "/var/lib/storagebench-test"
}

// Open returns the State of a folder. The cluster need not exist.
func Open(folder string) (State, error) {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return State{}, fmt.Errorf("finding the state folder %s: %w", folder, err)
	}
	// Resolve links, because the mount table contains resolved paths.
	if resolved, err := filepath.EvalSymlinks(absolute); err == nil {
		absolute = resolved
	} else if resolved, err := filepath.EvalSymlinks(filepath.Dir(absolute)); err == nil {
		absolute = filepath.Join(resolved, filepath.Base(absolute))
	}
	return State{folder: absolute}, nil
}

// Kubeconfig returns the path of the administrator's kubeconfig.
func (s State) Kubeconfig() string { return filepath.Join(s.folder, "kubeconfig") }

// Folder returns the state folder.
func (s State) Folder() string { return s.folder }

func (s State) lockFile() string   { return filepath.Join(s.folder, "lock") }
func (s State) recordFile() string { return filepath.Join(s.folder, "cluster.json") }
func (s State) imagesFile() string { return filepath.Join(s.folder, "images.json") }

// outside returns the path on this machine of a path below the first node's /var.
func (s State) outside(nodePath string) string { return s.Member(0).Outside(nodePath) }

// folders returns the folders that contain the nodes' disks.
func (s State) folders() []string {
	return []string{s.Member(0).folder(), s.workersFolder(), s.sharedFolder()}
}

// cgroup returns the name of the control group that contains everything the cluster runs.
func (s State) cgroup() string { return "storagebench-test-" + s.hash() }

// link returns the name of the network device on this machine that leads to the first node.
func (s State) link() string { return "sbt" + s.hash() }

// hash returns a hash of the folder, which distinguishes the names of this cluster from those of others.
func (s State) hash() string {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(s.folder))
	return fmt.Sprintf("%08x", sum.Sum32())
}

// load reads the record. It returns nil if no cluster was started or the record cannot be read. If it cannot be read,
// clean finds the processes by their control groups.
func (s State) load() *record {
	data, err := os.ReadFile(s.recordFile())
	if err != nil {
		return nil
	}
	var loaded record
	if json.Unmarshal(data, &loaded) != nil {
		return nil
	}
	return &loaded
}

func (s State) save(r record) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the record of the cluster: %w", err)
	}
	return writeFile(s.recordFile(), append(data, '\n'), 0o600)
}

// writeFile writes a file atomically.
func writeFile(path string, data []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("making the folder of %s: %w", path, err)
	}
	temporary := path + ".new"
	if err := os.WriteFile(temporary, data, mode); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := os.Rename(temporary, path); err != nil {
		return fmt.Errorf("putting %s in place: %w", path, err)
	}
	return nil
}

// remove deletes the files of a cluster by their names, so that a folder that was given by mistake keeps its other
// files.
func (s State) remove() error {
	for _, path := range append(s.folders(), s.Kubeconfig(), s.recordFile(), s.recordFile()+".new", s.Kubeconfig()+".new", s.imagesFile(), s.imagesFile()+".new") {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("removing the state of the cluster: %w", err)
		}
	}
	return nil
}

// removeFolder removes the lock, and the folder if it is then empty.
func (s State) removeFolder() error {
	if err := os.Remove(s.lockFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing the lock: %w", err)
	}
	_ = os.Remove(s.folder)
	return nil
}
