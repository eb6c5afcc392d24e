package burstfs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/storagebench/storagebench/test/burstfs/model"
)

// Mounted is a mounted store for a test. Its methods fail the test instead of returning errors.
type Mounted struct {
	*FS
	t testing.TB
}

// Mount mounts a store until the test ends. If it cannot, the test fails with the reason. The files are in backing or,
// if that is empty, in a temporary directory of the test.
func Mount(t testing.TB, config model.Config, backing string) *Mounted {
	t.Helper()
	if backing == "" {
		backing = t.TempDir()
	}
	mountPoint := filepath.Join(t.TempDir(), "store")
	if err := os.Mkdir(mountPoint, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := New(config, backing, mountPoint)
	if err != nil {
		t.Fatalf("mounting a store for a test: %v", err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return &Mounted{FS: f, t: t}
}

// Set changes the configuration; see [FS.Set].
func (m *Mounted) Set(config model.Config) {
	m.t.Helper()
	if err := m.FS.Set(config); err != nil {
		m.t.Fatal(err)
	}
}

// Fail adds a failure; see [FS.Fail].
func (m *Mounted) Fail(failure model.Failure) {
	m.t.Helper()
	if err := m.FS.Fail(failure); err != nil {
		m.t.Fatal(err)
	}
}
