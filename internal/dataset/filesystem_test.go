package dataset

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// mountMade creates a file system in a file, mounts it and creates a client's directory on it.
func mountMade(t *testing.T, program []string, options string) *Dataset {
	t.Helper()
	if _, err := exec.LookPath(program[0]); err != nil {
		t.Skipf("there is no %s here", program[0])
	}
	image, at := filepath.Join(t.TempDir(), "image"), t.TempDir()
	must(t, os.WriteFile(image, nil, 0o600))
	must(t, os.Truncate(image, 400*mib))
	for _, words := range [][]string{append(program, image), {"mount", "-o", options, image, at}} {
		if output, err := exec.CommandContext(t.Context(), words[0], words[1:]...).CombinedOutput(); err != nil {
			t.Skipf("this machine does not allow it: %v: %s", err, output)
		}
	}
	t.Cleanup(func() {
		if output, err := exec.Command("umount", at).CombinedOutput(); err != nil {
			t.Errorf("unmount: %v: %s", err, output)
		}
	})
	return mustCreate(t, at, 0)
}
