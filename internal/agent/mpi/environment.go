package mpi

import (
	"os"
	"slices"
	"strings"
)

// Environment variables that this program sets for the processes started by MPI.
const (
	// launchFile is the variable that holds the path of the input file of `agent launch`. It is set only for mpirun and
	// its launchers.
	launchFile = "STORAGEBENCH_LAUNCH"
	// rankDirectory is the variable that holds the path of the directory in which ranks work. rankDevice is the variable
	// that holds the device and inode numbers of that directory.
	rankDirectory = "STORAGEBENCH_DIRECTORY"
	rankDevice    = "STORAGEBENCH_DIRECTORY_ID"
)

// handedDown lists the environment variables that mpirun and its daemons inherit from the agent. An image sets them to
// specify where its MPI is installed.
var handedDown = []string{"LD_LIBRARY_PATH", "OPAL_PREFIX", "PRTE_PREFIX", "PMIX_PREFIX"}

// environment returns the environment of mpirun and its daemons. It is minimal and does not depend on the user. It sets
// HOME and SHELL, which MPI reads before /etc/passwd, because the user may have no entry there: without a home
// directory PMIx crashes, and without a shell Open MPI wraps its remote command for an unknown shell. It sets the
// launch agent because MPI otherwise needs ssh to start anything, even a single rank without mpirun.
func (t *Tool) environment(scratch string, more ...string) []string {
	all := []string{
		"PATH=" + t.env.Path, "LC_ALL=C", "SHELL=/bin/bash", "HOME=" + scratch, "TMPDIR=" + scratch,
		"OMPI_MCA_plm_rsh_agent=" + launchProgram(), "PRTE_MCA_plm_ssh_agent=" + launchProgram(),
	}
	for _, name := range handedDown {
		if value := os.Getenv(name); value != "" {
			all = append(all, name+"="+value)
		}
	}
	return append(all, more...)
}

// launchProgram returns the path of MPI's launch agent, which is this program. If MPI would misread the path,
// launchProgram returns /proc/self/exe instead, and newLauncher accepts only jobs with one host. A job with one host
// does not start the launch agent, but MPI still requires that the program exists.
func launchProgram() string {
	path, err := os.Executable()
	if err == nil {
		err = checkAgentPath(path)
	}
	if err != nil {
		path = "/proc/self/exe"
	}
	return path + " launch"
}

// rankNames and rankPrefixes select the environment variables that a rank keeps.
var (
	rankNames = []string{"PATH", "LC_ALL", "HOME", "TMPDIR", "SHELL", "LD_LIBRARY_PATH", "STORAGEBENCH_PROCESS"}
	// rankPrefixes are the prefixes of MPI's own variables.
	rankPrefixes = []string{"OMPI_", "OPAL_", "ORTE_", "PRTE_", "PMIX_"}
)

// rankEnvironment filters a rank's environment. It also makes MPI place the memory that the ranks of a host share in
// the ranks' scratch directory, because a container's /dev/shm is small.
func rankEnvironment(environment []string) []string {
	kept := slices.DeleteFunc(slices.Clone(environment), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return !slices.Contains(rankNames, name) &&
			!slices.ContainsFunc(rankPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
	})
	for _, entry := range environment {
		if scratch, found := strings.CutPrefix(entry, "TMPDIR="); found {
			kept = append(kept, "OMPI_MCA_btl_vader_backing_directory="+scratch, "OMPI_MCA_btl_sm_backing_directory="+scratch)
		}
	}
	return kept
}
