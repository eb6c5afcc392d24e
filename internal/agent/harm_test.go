package agent

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/storagebench/storagebench/internal/agentapi"
)

// growTree creates random files, folders and links that are not the agent's.
func growTree(t *testing.T, random *rand.Rand, directory string) {
	t.Helper()
	folders := []string{directory}
	for i := range random.IntN(5) {
		folder := filepath.Join(folders[random.IntN(len(folders))], fmt.Sprintf("folder %d", i))
		must(t, os.Mkdir(folder, 0o755))
		folders = append(folders, folder)
	}
	for i := range 3 + random.IntN(12) {
		name := filepath.Join(folders[random.IntN(len(folders))], []string{"data-0.0", "file", ".hidden", "owner.json"}[random.IntN(4)]+itoa(i))
		text := make([]byte, random.IntN(16<<10))
		for at := range text {
			text[at] = byte(random.Uint32())
		}
		must(t, os.WriteFile(name, text, fs.FileMode(0o400+random.IntN(2)*0o200)))
		if random.IntN(4) == 0 {
			must(t, os.Symlink(name, name+"-link"))
		}
	}
}

// sumTree returns a checksum of a directory: names, kinds, modes, links and contents. It skips the agent's files.
func sumTree(t *testing.T, directory string) string {
	t.Helper()
	sum := sha256.New()
	must(t, filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.Name() == ".storagebench" {
			return fs.SkipDir
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(sum, "%s %v\n", path, info.Mode())
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			_, _ = fmt.Fprintln(sum, target)
			return err
		case info.Mode().IsRegular():
			text, err := os.ReadFile(path)
			_, _ = sum.Write(text)
			return err
		}
		return nil
	}))
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// harm is a kind of failure of a volume under load.
type harm struct {
	name string
	// failure configures the store to fail for the file of one tree. It is empty for a volume that is filled instead.
	failure         string
	reason, warning string
	store           *store
}

// harms returns all kinds of failures, without the stall if its duration is zero. A store has one failure per tree,
// which affects only the file of that tree.
func harms(t *testing.T, trees int, stall time.Duration) []*harm {
	t.Helper()
	kinds := []*harm{
		{name: "brim", reason: "NoSpace"},
		{name: "no space", failure: "error: ENOSPC, probability: 0.05", reason: "NoSpace"},
		{name: "read-only", failure: "error: EROFS, probability: 0.05", reason: "ReadOnly"},
		{name: "EIO", failure: "error: EIO, probability: 0.05", reason: "IOError"},
		{name: "stall", failure: fmt.Sprintf("error: stall, stall: %s, probability: 0.05, count: 1", stall), warning: "IOStalled"},
	}
	if stall == 0 {
		kinds = kinds[:len(kinds)-1]
	}
	for _, kind := range kinds {
		if kind.failure == "" {
			continue
		}
		config := "buckets: [{name: volume, counts: bytes, baselinePerSecond: 4e8}]\nfailures:\n"
		for tree := range trees {
			config += fmt.Sprintf("- {kinds: [write], path: tree%d.0.0, %s}\n", tree, kind.failure)
		}
		kind.store = mountStore(t, config)
	}
	return kinds
}

// place returns a directory for a tree: on the store, or on a separate volume that can be filled.
func (h *harm) place(t *testing.T, tree int) string {
	t.Helper()
	if h.store == nil {
		directory := t.TempDir()
		must(t, unix.Mount("none", directory, "tmpfs", 0, "size=8m,mode=755"))
		t.Cleanup(func() { must(t, unix.Unmount(directory, unix.MNT_DETACH)) }) // a fork of another test may have it open
		return directory
	}
	directory := filepath.Join(h.store.directory, "tree-"+itoa(tree))
	must(t, os.Mkdir(directory, 0o755))
	return directory
}

// fill leaves less space on a volume than the 4 MiB that the load writes.
func fill(t *testing.T, random *rand.Rand, directory string) {
	t.Helper()
	var space unix.Statfs_t
	must(t, unix.Statfs(directory, &space))
	leave := 64<<10 + random.Int64N(4<<20-64<<10)
	must(t, os.WriteFile(filepath.Join(directory, "filler"), make([]byte, int64(space.Bavail)*int64(space.Bsize)-leave), 0o600))
}

// TestFailuresHarmNobodysFiles checks that the result names the cause when a volume fills up, becomes read-only or
// returns EIO during a load, and that no foreign file changes. The trees are random. The soak test has more trees, and
// stalls.
func TestFailuresHarmNobodysFiles(t *testing.T) {
	t.Parallel()
	harmTrees(t, 8, 0)
}

func harmTrees(t *testing.T, trees int, stall time.Duration) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root may mount")
	}
	kinds := harms(t, trees, stall)
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	slots := make(chan struct{}, 8)
	var all sync.WaitGroup
	var mu sync.Mutex
	harmed := map[string]int{}
	for tree := range trees {
		kind := kinds[tree%len(kinds)]
		directory := kind.place(t, tree)
		random := rand.New(rand.NewPCG(uint64(seed), uint64(tree)))
		growTree(t, random, directory)
		if kind.store == nil {
			fill(t, random, directory)
		}
		before := sumTree(t, directory)
		r := serveAt(t, directory, nil)
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			load := request("a", strings.ReplaceAll(global, "data.$jobnum", "tree"+itoa(tree)+".$jobnum")+
				"fallocate=none\nioengine=psync\nrw=write\nbs=16k\nsize=4m\n[job]\n")
			load.GetFio().WrittenBytes = 4 << 20
			ended, records := tryRun(r, load)
			if ended == nil {
				return
			}
			said := notices(ended, records)
			switch {
			case kind.reason != "" && (ended.GetOutcome() != agentapi.Outcome_OUTCOME_FAILED || ended.GetReason() != kind.reason):
				t.Errorf("tree %d: want %s, got %v", tree, kind.reason, ended)
			case kind.warning != "" && (ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE || said[kind.warning] == ""):
				t.Errorf("tree %d: want %s, got %v, %v", tree, kind.warning, ended, said)
			}
			answer, err := r.Finish(t.Context(), &agentapi.FinishRequest{Epoch: 1, RemoveData: true})
			if err != nil || !answer.GetDataRemoved() {
				t.Errorf("tree %d: %v, %v", tree, answer, err)
			}
			if after := sumTree(t, directory); after != before {
				t.Errorf("tree %d (%s): foreign files have changed", tree, kind.name)
			}
			if _, err := os.Lstat(filepath.Join(directory, ".storagebench")); err == nil {
				t.Errorf("tree %d: the agent's folder is left", tree)
			}
			mu.Lock()
			defer mu.Unlock()
			harmed[kind.name]++
		})
	}
	all.Wait()
	t.Logf("trees checked after each kind of failure: %v", harmed)
}

// tryRun is like run, but may be called from any goroutine. It returns nil on failure.
func tryRun(r *rig, load *agentapi.LoadRequest) (*agentapi.Ended, []*agentapi.Record) {
	ctx := r.t.Context()
	if _, err := r.Load(ctx, load); err != nil {
		r.t.Error(err)
		return nil, nil
	}
	now := r.agent.env.Clock.Monotonic()
	_, err := r.Start(ctx, &agentapi.StartRequest{Epoch: 1, Step: load.GetStep(), AtNanoseconds: now, DeadlineNanoseconds: now + int64(noLimit)})
	if err != nil {
		r.t.Error(err)
		return nil, nil
	}
	stream, err := r.Watch(ctx, &agentapi.WatchRequest{Epoch: 1})
	var records []*agentapi.Record
	for err == nil {
		var record *agentapi.Record
		if record, err = stream.Recv(); err == nil {
			records = append(records, record)
			if record.GetEnded() != nil {
				return record.GetEnded(), records
			}
		}
	}
	r.t.Error(err)
	return nil, nil
}
