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

// StateVariable is the environment variable that says where the state is kept.
const StateVariable = "STORAGEBENCH_CLUSTER_STATE"

// State is the folder of one cluster. It holds all that the cluster writes.
type State struct {
	folder string
}

// record is what is known of a cluster that was started. It is written before
// the node runs, so that whatever dies, the next up or down finds the rest.
type record struct {
	// Init is process 1 of the first node, as this machine sees it; Workers are
	// those of the others, of which one that was never started is empty.
	Init    process   `json:"init"`
	Workers []process `json:"workers,omitempty"`
	Network network   `json:"network"`
	// Complete says that the cluster came up once, with all that belongs to it.
	Complete  bool      `json:"complete"`
	StartedAt time.Time `json:"startedAt"`
}

// process is process 1 of a node.
func (r record) process(m Member) process {
	if m.place == 0 {
		return r.Init
	}
	if m.place > len(r.Workers) {
		return process{}
	}
	return r.Workers[m.place-1]
}

// with is the record with another process 1 of a node.
func (r record) with(m Member, init process) record {
	if m.place == 0 {
		r.Init = init
		return r
	}
	r.Workers = slices.Clone(r.Workers)
	r.Workers[m.place-1] = init
	return r
}

// DefaultState is the state folder that the environment asks for:
// STORAGEBENCH_CLUSTER_STATE, or below XDG_STATE_HOME, or in /var/lib.
func DefaultState() string {
	if folder := os.Getenv(StateVariable); folder != "" {
		return folder
	}
	if home := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, "storagebench-test")
	}
	return "/var/lib/storagebench-test"
}

// Open names the cluster whose state is in a folder, whether there is one or
// not.
func Open(folder string) (State, error) {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return State{}, fmt.Errorf("finding the state folder %s: %w", folder, err)
	}
	// Links are followed now, because the mount table names real paths.
	if resolved, err := filepath.EvalSymlinks(absolute); err == nil {
		absolute = resolved
	} else if resolved, err := filepath.EvalSymlinks(filepath.Dir(absolute)); err == nil {
		absolute = filepath.Join(resolved, filepath.Base(absolute))
	}
	return State{folder: absolute}, nil
}

// Kubeconfig is the path of the administrator's kubeconfig.
func (s State) Kubeconfig() string { return filepath.Join(s.folder, "kubeconfig") }

// Folder is the state folder.
func (s State) Folder() string { return s.folder }

func (s State) lockFile() string   { return filepath.Join(s.folder, "lock") }
func (s State) recordFile() string { return filepath.Join(s.folder, "cluster.json") }
func (s State) imagesFile() string { return filepath.Join(s.folder, "images.json") }

// outside is the path on this machine of a path below the first node's /var.
func (s State) outside(nodePath string) string { return s.Member(0).Outside(nodePath) }

// folders hold the disks of the nodes.
func (s State) folders() []string {
	return []string{s.Member(0).folder(), s.workersFolder(), s.sharedFolder()}
}

// cgroup is the name of the control group of everything that the cluster runs.
func (s State) cgroup() string { return "storagebench-test-" + s.hash() }

// link is the device on this machine that leads to the first node.
func (s State) link() string { return "sbt" + s.hash() }

// hash tells what belongs to this cluster from what belongs to another.
func (s State) hash() string {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(s.folder))
	return fmt.Sprintf("%08x", sum.Sum32())
}

// load reads the record; nil where no cluster was started, or where what is
// there cannot be read, which the control groups then make up for.
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

// writeFile puts a file in place as a whole.
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

// remove deletes what a cluster leaves in the folder, and the folder if nothing
// else is in it. The names are ours; a folder given by mistake keeps its own.
func (s State) remove() error {
	for _, path := range append(s.folders(), s.Kubeconfig(), s.recordFile(), s.recordFile()+".new", s.Kubeconfig()+".new", s.imagesFile(), s.imagesFile()+".new") {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("removing the state of the cluster: %w", err)
		}
	}
	return nil
}

// removeFolder ends what remove began. Something else in it keeps the folder.
func (s State) removeFolder() error {
	if err := os.Remove(s.lockFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing the lock: %w", err)
	}
	_ = os.Remove(s.folder)
	return nil
}
