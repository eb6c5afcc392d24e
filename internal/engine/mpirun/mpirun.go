// Package mpirun builds the command line of Open MPI's mpirun, which runs ior or mdtest as one job across the clients
// of a target. It has no side effects: the agent executes the command line, and a plan displays it.
package mpirun

import (
	"cmp"
	"slices"
	"strconv"
)

// Oldest and Newest are the oldest and the newest supported major versions of Open MPI.
const (
	Oldest = 4
	Newest = 5
)

// Job contains the parameters of mpirun's command line.
type Job struct {
	// Major is Open MPI's major version.
	Major int
	// Hosts is the number of hosts. Ranks is the total number of ranks on all hosts.
	Hosts, Ranks int
	// Hostfile is the path of the file that lists the hosts.
	Hostfile string
	// Agent is the path of the agent's program, the same on every host.
	Agent string
	// Network and NIC select the network interfaces that MPI uses. Network selects all interfaces with an address in a
	// network, and NIC selects one interface by its name. Open MPI 5 uses only NIC.
	Network, NIC string
	// Program and Arguments are the command that each rank runs.
	Program   string
	Arguments []string
	// More holds the names and values of MCA parameters that replace the defaults. Only tests set it.
	More [][2]string
}

// Command returns the arguments of mpirun.
//
// mpirun finds the programs of its daemons in each host's own PATH (--noprefix). It starts all daemons itself, instead
// of letting daemons start others, because only client 0 may start programs on other clients. It stays attached to them
// (--leave-session-attached), because a daemon of Open MPI 4 would otherwise detach from its caller and be orphaned.
// Ranks fill one host before the next, because each client holds the files of its own ranks. Ranks are not bound to
// processors: a container may have few, and other clients on the machine may use the same processors.
func (j Job) Command() []string {
	settings := "--mca"
	arguments := []string{"--noprefix", "--leave-session-attached", "--hostfile", j.Hostfile, "-np", strconv.Itoa(j.Ranks)}
	if j.Major >= Newest {
		settings = "--prtemca"
		arguments = append(arguments, "--map-by", "slot:OVERSUBSCRIBE")
		// Pass only NIC, not Network, because Open MPI 5.0.11 cannot select an interface by its network address.
		if j.Hosts > 1 && j.NIC != "" {
			arguments = append(arguments, settings, "prte_if_include", j.NIC, "--mca", "btl_tcp_if_include", j.NIC)
		}
	} else {
		arguments = append(arguments, "--map-by", "slot", "--oversubscribe",
			settings, "plm_rsh_no_tree_spawn", "1", settings, "orte_keep_fqdn_hostnames", "1")
		if use := cmp.Or(j.Network, j.NIC); j.Hosts > 1 && use != "" {
			arguments = append(arguments, settings, "oob_tcp_if_include", use, settings, "btl_tcp_if_include", use)
		}
	}
	arguments = append(arguments, "--bind-to", "none", "--wdir", "/")
	for _, setting := range j.transport() {
		arguments = append(arguments, "--mca", setting[0], setting[1])
	}
	arguments = append(arguments, j.Agent, "rank", "--", j.Program)
	return append(arguments, j.Arguments...)
}

// transport returns the MCA parameters of the transport between ranks: shared memory within a host, TCP between hosts.
// Other networks need devices and limits that a restricted pod lacks. Single-copy transfers are off, because a
// restricted pod cannot read the memory of another process. Ranks that wait at MPI's barriers yield the processor
// (mpi_yield_when_idle), because a container may have few.
func (j Job) transport() [][2]string {
	settings := [][2]string{{"pml", "ob1"}, {"mpi_yield_when_idle", "1"}}
	if j.Major >= Newest {
		settings = append(settings, [2]string{"btl", "self,sm,tcp"}, [2]string{"smsc", "^cma,knem,xpmem"})
	} else {
		settings = append(settings, [2]string{"btl", "self,vader,tcp"}, [2]string{"btl_vader_single_copy_mechanism", "none"})
	}
	for _, other := range j.More {
		settings = slices.DeleteFunc(settings, func(s [2]string) bool { return s[0] == other[0] })
		settings = append(settings, other)
	}
	return settings
}

// Environment returns the environment variables that mpirun needs in addition to those that the agent sets for all MPI
// programs. They allow mpirun to run as any user, including root, and make Open MPI 5 start all daemons itself.
func (j Job) Environment() []string {
	if j.Major >= Newest {
		return []string{
			"PRTE_ALLOW_RUN_AS_ROOT=1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1",
			"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
			"PRTE_MCA_plm_ssh_no_tree_spawn=1",
		}
	}
	return []string{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"}
}
