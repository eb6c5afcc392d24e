package binaries

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// BuildOwn builds a program of this repository, such as ./test/burstfs/cmd/burstfs, without cgo. It renames the result
// to target, so that processes already running from that path are not affected. Concurrent calls for the same target,
// even in several processes, are safe.
func BuildOwn(ctx context.Context, program, target string) error {
	root, err := RepositoryRoot()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return fmt.Errorf("making the folder of %s: %w", program, err)
	}
	folder, err := os.MkdirTemp(filepath.Dir(target), ".build-") // on the same file system as target
	if err != nil {
		return fmt.Errorf("making a folder to build %s in: %w", program, err)
	}
	defer os.RemoveAll(folder) //nolint:errcheck // nothing depends on it
	built := filepath.Join(folder, filepath.Base(target))
	command := exec.CommandContext(ctx, "go", "build", "-o", built, program)
	command.Dir = root
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", program, err, output)
	}
	if err := os.Rename(built, target); err != nil {
		return fmt.Errorf("putting %s in place: %w", program, err)
	}
	return nil
}

// Tool returns the path of a tool that hack/tool pins, such as helm. It builds the tool first if necessary.
func Tool(name string) (string, error) {
	root, err := RepositoryRoot()
	if err != nil {
		return "", err
	}
	command := exec.Command(filepath.Join(root, "hack", "tool"), name) // #nosec G204 -- our own script
	command.Dir, command.Stderr = root, os.Stderr
	path, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("building the tool %s: %w", name, err)
	}
	return strings.TrimSpace(string(path)), nil
}
