package agent

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Environment variables of this program for what MPI starts.
const (
	// launchFile names a file with everything that `agent launch` needs; only mpirun and its launchers get it.
	launchFile = "STORAGEBENCH_LAUNCH"
	// rankDirectory holds the path of the directory in which ranks work, and rankDevice its device and inode.
	rankDirectory = "STORAGEBENCH_DIRECTORY"
	rankDevice    = "STORAGEBENCH_DIRECTORY_ID"
)

// handedDown are the variables of our own environment with which an image says where its MPI is.
var handedDown = []string{"LD_LIBRARY_PATH", "OPAL_PREFIX", "PRTE_PREFIX", "PMIX_PREFIX"}

// mpiEnvironment returns the environment of mpirun and its daemons. It is small and does not depend on the user. A
// user without an entry in /etc/passwd has no home and no shell there; without a home PMIx crashes, and without a
// shell Open MPI wraps its command for one. MPI reads HOME and SHELL first. Without ssh nothing of MPI starts, not
// even a rank without mpirun, unless another launch agent is set.
func (a *Agent) mpiEnvironment(scratch string, more ...string) []string {
	environment := []string{
		"PATH=" + a.searchPath(), "LC_ALL=C", "SHELL=/bin/bash", "HOME=" + scratch, "TMPDIR=" + scratch,
		"OMPI_MCA_plm_rsh_agent=" + launchProgram(), "PRTE_MCA_plm_ssh_agent=" + launchProgram(),
	}
	for _, name := range handedDown {
		if value := os.Getenv(name); value != "" {
			environment = append(environment, name+"="+value)
		}
	}
	return append(environment, more...)
}

// launchProgram returns the launch agent of MPI: this program. If its path is one that MPI would misread, the job has
// only one host, which needs no launch agent, but MPI still wants one that exists.
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

// searchPath returns the PATH in which programs are searched.
func (a *Agent) searchPath() string { return firstOf(a.path, os.Getenv("PATH")) }

// find returns the path of a program.
func (a *Agent) find(name string) (string, error) { return a.system.Find(name, a.searchPath()) }

// Find implements System.
func (thisMachine) Find(name, path string) (string, error) {
	for _, directory := range strings.Split(path, ":") {
		if directory == "" {
			continue
		}
		found := directory + "/" + name
		if info, err := os.Stat(found); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return found, nil
		}
	}
	return "", fmt.Errorf("%s is in no folder of PATH (%s)", name, path)
}

// rankNames and rankPrefixes select the environment variables that a rank keeps.
var (
	rankNames = []string{"PATH", "LC_ALL", "HOME", "TMPDIR", "SHELL", "LD_LIBRARY_PATH", "STORAGEBENCH_PROCESS"}
	// rankPrefixes are those of MPI's own variables.
	rankPrefixes = []string{"OMPI_", "OPAL_", "ORTE_", "PRTE_", "PMIX_"}
)

// rankEnvironment reduces the environment of a rank. It makes MPI keep the memory that ranks of a host share in their
// own scratch directory, because /dev/shm of a container is small.
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
