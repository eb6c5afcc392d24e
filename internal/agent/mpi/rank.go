package mpi

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

// rankPrograms are the programs that ranks may run.
var rankPrograms = []string{"ior", "mdtest"}

// Rank implements `agent rank -- PROGRAM ARGUMENTS`: it becomes an MPI rank that works in this client's own directory.
// By itself, MPI would start the ranks in a directory with the same path on every host. Rank returns only on failure.
func Rank(arguments []string) error {
	if len(arguments) < 2 || arguments[0] != "--" || !slices.Contains(rankPrograms, arguments[1]) {
		return fmt.Errorf("start a rank: specify -- and one of %v with its arguments", rankPrograms)
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
	err = syscall.Exec(path, arguments[1:], rankEnvironment(os.Environ())) //nolint:gosec // one of rankPrograms
	return fmt.Errorf("start a rank: %s: %w", path, err)
}

// leaveOutputToFirst reserves IOR's standard output for its first rank, which prints all figures. The other ranks print
// to standard error, because warnings that they print at the same time would split the lines of the first rank. The
// output of mdtest is not redirected: apart from the table of results, its ranks print only messages, and the agent
// evaluates these messages.
func leaveOutputToFirst(program string) error {
	rank := cmp.Or(os.Getenv("PMIX_RANK"), os.Getenv("OMPI_COMM_WORLD_RANK"))
	if program != "ior" || rank == "" || rank == "0" {
		return nil
	}
	return unix.Dup3(int(os.Stderr.Fd()), int(os.Stdout.Fd()), 0)
}

// enterRankDirectory changes to the directory of this client's ranks and verifies that it is the directory that the
// agent checked.
func enterRankDirectory() error {
	directory, proven := os.Getenv(rankDirectory), os.Getenv(rankDevice)
	if directory == "" || proven == "" {
		return errors.New("the agent of this client did not pass a directory to the rank")
	}
	if err := os.Chdir(directory); err != nil {
		return err
	}
	found, err := os.Stat(".")
	if err != nil {
		return err
	}
	if directoryID(found) != proven {
		return fmt.Errorf("%s was replaced after the agent had checked it; check what was mounted or moved there", directory)
	}
	return nil
}

// directoryID returns the device and inode numbers, which distinguish a directory from another one with the same
// name.
func directoryID(info os.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
}
