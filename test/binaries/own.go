package binaries

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// BuildOwn builds a program of this repository, such as ./test/burstfs/cmd/burstfs, without C, and puts it in place
// at once: what runs there goes on as it is.
func BuildOwn(ctx context.Context, program, target string) error {
	root, err := RepositoryRoot()
	if err != nil {
		return err
	}
	built := fmt.Sprintf("%s.%d", target, os.Getpid())
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
