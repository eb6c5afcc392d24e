package mpi

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/storagebench/storagebench/internal/engine/mpirun"
)

// version is a version of Open MPI.
type version struct {
	text  string
	major int
}

var versionText = regexp.MustCompile(`^mpirun \((?:Open MPI|OpenRTE)\) ((\d+)\.[0-9A-Za-z.]+)`)

// minMPI and maxMPI are the oldest and newest supported major versions of Open MPI.
const (
	minMPI = mpirun.Oldest
	maxMPI = mpirun.Newest
)

// parseVersion reads the output of mpirun --version, such as "mpirun (Open MPI) 4.1.4".
func parseVersion(answer string) (version, error) {
	found := versionText.FindStringSubmatch(strings.TrimSpace(answer))
	if found == nil {
		line, _, _ := strings.Cut(strings.TrimSpace(answer), "\n")
		return version{}, fmt.Errorf("mpirun does not belong to Open MPI: its version is %q; use an image with Open MPI 4 or 5",
			line)
	}
	major, err := strconv.Atoi(found[2])
	if err != nil || major < minMPI || major > maxMPI {
		return version{}, fmt.Errorf("mpirun is Open MPI %s, which is not supported; use an image with Open MPI 4 or 5", found[1])
	}
	return version{text: found[1], major: major}, nil
}

// daemon returns the name of the program that starts the ranks on other hosts.
func (v version) daemon() string {
	if v.major >= maxMPI {
		return "prted"
	}
	return "orted"
}

// job holds everything that determines mpirun's command line.
type job struct {
	version version
	hosts   []host
	// hostfile is the path of a file with the hosts.
	hostfile string
	// agent is the path of this program, which must be the same on every host.
	agent string
	// scratch is the directory for MPI's temporary files.
	scratch string
	// network and nic select the interfaces that MPI uses: network selects all interfaces in a network, and nic selects
	// one interface by name.
	network, nic string
	program      string
	arguments    []string
	// more holds MPI parameters, by name and value, that override the default ones. Only tests set it.
	more [][2]string
}

// line converts the job to the input of the mpirun package, which builds the command line.
func (j job) line() mpirun.Job {
	return mpirun.Job{Major: j.version.major, Hosts: len(j.hosts), Ranks: slots(j.hosts), Hostfile: j.hostfile,
		Agent:   j.agent,
		Network: j.network, NIC: j.nic, Program: j.program, Arguments: j.arguments, More: j.more}
}

func (j job) command() []string { return j.line().Command() }

// environment returns the variables that mpirun needs in addition to Tool.environment.
func (j job) environment() []string { return j.line().Environment() }

// checkAgentPath returns an error if MPI would parse the path as several programs.
func checkAgentPath(path string) error {
	if strings.ContainsAny(path, " \t:,'\"") {
		return fmt.Errorf("MPI cannot start %q on other hosts; use a path without spaces, colons, commas or quotes",
			path)
	}
	return nil
}
