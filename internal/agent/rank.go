package agent

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// mpiPrograms are what ranks may be.
var mpiPrograms = []string{"ior", "mdtest"}

// Rank is `agent rank -- PROGRAM ARGUMENTS`: it becomes a rank of MPI that works in the directory of this
// client. MPI itself would start all ranks in a directory of one name, and clients have their own. It returns only when
// that failed.
func Rank(arguments []string) error {
	if len(arguments) < 2 || arguments[0] != "--" || !slices.Contains(mpiPrograms, arguments[1]) {
		return fmt.Errorf("start a rank: want -- and one of %v with its arguments", mpiPrograms)
	}
	if err := enterRankDirectory(); err != nil {
		return fmt.Errorf("start a rank of %s: %w", arguments[1], err)
	}
	path, err := exec.LookPath(arguments[1])
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return fmt.Errorf("start a rank: %w", err)
	}
	if err := leaveOutputToFirst(arguments[1]); err != nil {
		return fmt.Errorf("start a rank of %s: %w", arguments[1], err)
	}
	err = syscall.Exec(path, arguments[1:], rankEnvironment(os.Environ())) //nolint:gosec // Of mpiPrograms.
	return fmt.Errorf("start a rank: %s: %w", path, err)
}

// leaveOutputToFirst gives the standard output of ior to its first rank, which prints all figures: what others warn of at
// the same time would come into the middle of its lines. They tell it on standard error. Those of mdtest print nothing
// beside its table, and what they tell counts there.
func leaveOutputToFirst(program string) error {
	rank := cmp.Or(os.Getenv("PMIX_RANK"), os.Getenv("OMPI_COMM_WORLD_RANK"))
	if program != "ior" || rank == "" || rank == "0" {
		return nil
	}
	return unix.Dup3(int(os.Stderr.Fd()), int(os.Stdout.Fd()), 0)
}

// enterRankDirectory goes to where ranks of this client work, if it is still the one that was proven.
func enterRankDirectory() error {
	directory, proven := os.Getenv(rankDirectory), os.Getenv(rankDevice)
	if directory == "" || proven == "" {
		return errors.New("the agent of this client has named no directory")
	}
	if err := os.Chdir(directory); err != nil {
		return err
	}
	found, err := os.Stat(".")
	if err != nil {
		return err
	}
	if directoryID(found) != proven {
		return fmt.Errorf("%s is not the directory that was checked; look what was mounted there meanwhile", directory)
	}
	return nil
}

// directoryID is what tells a directory from another one of its name.
func directoryID(info os.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
}
