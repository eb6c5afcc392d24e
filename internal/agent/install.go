package agent

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Install copies this program to a path atomically, so that a container of any image can run it. The program is
// statically linked and needs no other files.
func Install(path string) error {
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("install the agent: open its program: %w", err)
	}
	defer func() { _ = from.Close() }()
	to, err := os.CreateTemp(filepath.Dir(path), ".agent-")
	if err != nil {
		return fmt.Errorf("install the agent: %w", err)
	}
	_, err = io.Copy(to, from)
	if err == nil {
		err = to.Chmod(0o755)
	}
	if err = errors.Join(err, to.Close()); err == nil {
		err = os.Rename(to.Name(), path)
	}
	if err != nil {
		_ = os.Remove(to.Name())
		return fmt.Errorf("install the agent as %s: %w", path, err)
	}
	return nil
}
