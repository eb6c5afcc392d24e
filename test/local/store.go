package local

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/test/burstfs"
	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/standinior"
)

// Mount mounts a store whose files are in memory, so that no disk sets its pace.
func Mount(t *testing.T, config model.Config) *burstfs.Mounted {
	t.Helper()
	backing, err := os.MkdirTemp("/dev/shm", "storagebench-test-")
	if err != nil {
		t.Skip("there is no tmpfs at /dev/shm: ", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(backing) })
	return burstfs.Mount(t, config, backing)
}

// OnStore runs a benchmark file with a store as the directory of the target, and waits until the store's record is
// complete.
func OnStore(t *testing.T, store *burstfs.Mounted, target, file string) report.Document {
	t.Helper()
	return Ended(t, Start(t, "run", "--local", "-f", file, "--target", target+"="+store.Path(), "-o", "json"))
}

// Ended waits for the end of a run, which must not fail, and for the store's record of its last second. It accepts any
// verdict on credits and steady states.
func Ended(t *testing.T, run *Running) report.Document {
	t.Helper()
	got := run.WaitFor(t, 10*time.Minute)
	if got.Code == report.ExitFailed {
		t.Fatalf("exit code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	time.Sleep(time.Second)
	return got.Document(t)
}

// TargetOf returns the result of the only target of a phase.
func TargetOf(t *testing.T, document report.Document, phase string) v1alpha1.TargetResult {
	t.Helper()
	for _, one := range document.Phases {
		if one.Name == phase && len(one.Targets) == 1 {
			return one.Targets[0]
		}
	}
	t.Fatalf("phase %s has no result of one target", phase)
	return v1alpha1.TargetResult{}
}

// WithIOR puts ior and mdtest first into the PATH of the programs that the tests start.
func WithIOR(t *testing.T) {
	t.Helper()
	ior, mdtest := standinior.Program(t), standinior.Mdtest(t)
	t.Logf("real IOR: %t", standinior.Real())
	if err := iorInPath(ior, mdtest); err != nil {
		t.Fatal(err)
	}
}

var onceInPath sync.Once

// iorInPath changes PATH once, because tests that run at the same time share it.
func iorInPath(ior, mdtest string) (err error) {
	onceInPath.Do(func() {
		folder := filepath.Dir(Program)
		err = errors.Join(os.Symlink(ior, filepath.Join(folder, "ior")), os.Symlink(mdtest, filepath.Join(folder, "mdtest")),
			os.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH")))
	})
	return err
}
