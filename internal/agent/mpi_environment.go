package agent

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Names in the environment of what MPI starts. They are this program's own.
const (
	// launchFile names a file with all that `agent launch` needs; only mpirun and its launchers have it.
	launchFile = "STORAGEBENCH_LAUNCH"
	// rankDirectory and rankDevice name the directory in which ranks work, and its device and inode.
	rankDirectory = "STORAGEBENCH_DIRECTORY"
	rankDevice    = "STORAGEBENCH_DIRECTORY_ID"
)

// handedDown are variables of our own environment by which an image says where its MPI is.
var handedDown = []string{"LD_LIBRARY_PATH", "OPAL_PREFIX", "PRTE_PREFIX", "PMIX_PREFIX"}

// mpiEnvironment is that of mpirun and of its daemons: little, and nothing that depends on who we are. A user
// without an entry in /etc/passwd has no home and no shell there, without which PMIx crashes and Open MPI
// wraps its command into one of a shell; both are looked for here first. Where there is no ssh nothing of MPI starts without
// another launch agent, not even a rank without mpirun.
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

// launchProgram is the launch agent of MPI: this program. Of a path that MPI cannot be told there is one host only, which
// needs none, but one that exists.
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

// searchPath is where programs are looked for.
func (a *Agent) searchPath() string { return firstOf(a.path, os.Getenv("PATH")) }

// find gives the path of a program.
func (a *Agent) find(name string) (string, error) {
	for _, directory := range strings.Split(a.searchPath(), ":") {
		if directory == "" {
			continue
		}
		path := directory + "/" + name
		if info, err := os.Stat(path); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is in no folder of PATH (%s)", name, a.searchPath())
}

// rankNames and rankPrefixes are what of its environment a rank keeps.
var (
	rankNames = []string{"PATH", "LC_ALL", "HOME", "TMPDIR", "SHELL", "LD_LIBRARY_PATH", "STORAGEBENCH_PROCESS"}
	// rankPrefixes are MPI's own.
	rankPrefixes = []string{"OMPI_", "OPAL_", "ORTE_", "PRTE_", "PMIX_"}
)

// rankEnvironment bounds the environment of a rank, and has MPI keep the memory that ranks of a host share in their
// own scratch directory: /dev/shm of a container is small.
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
