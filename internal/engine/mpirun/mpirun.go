// Package mpirun writes the command line of Open MPI's mpirun, by which ior and mdtest run as one job over the clients
// of a target. It is pure: the agent runs what it gives, and a plan shows it.
package mpirun

import (
	"cmp"
	"slices"
	"strconv"
)

// The versions of Open MPI whose command lines are known here.
const (
	Oldest = 4
	Newest = 5
)

// Job is all that the command line of mpirun depends on.
type Job struct {
	// Major version of Open MPI.
	Major int
	// Hosts that the ranks run on, and Ranks over all of them.
	Hosts, Ranks int
	// Hostfile is the path of a file with the hosts.
	Hostfile string
	// Agent is the path of the agent's program, on every host.
	Agent string
	// Network and NIC say which interfaces MPI uses: those in a network, or one by its name.
	Network, NIC string
	// Program that each rank is, and its arguments.
	Program   string
	Arguments []string
	// More are settings for tests alone: name and value.
	More [][2]string
}

// Command gives the arguments of mpirun.
//
// It finds its daemons' programs in their own hosts' PATH (--noprefix), starts all of them itself (not through
// one another: only client 0 may launch) and stays with them (--leave-session-attached: a daemon of Open MPI 4
// would else leave its caller and be nobody's). Ranks fill a host before the next, because each client's files are those
// of its ranks, and are bound to no processor: a container may have few, and all others have the same.
func (j Job) Command() []string {
	settings := "--mca"
	arguments := []string{"--noprefix", "--leave-session-attached", "--hostfile", j.Hostfile, "-np", strconv.Itoa(j.Ranks)}
	if j.Major >= Newest {
		settings = "--prtemca"
		arguments = append(arguments, "--map-by", "slot:OVERSUBSCRIBE")
		// Its reading of networks finds none (5.0.11).
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

// transport is how ranks speak to each other: through memory on one host, by TCP between them. Other networks
// need devices and limits that a restricted pod has not, and memory of another process can not be read in one. Ranks
// wait for each other at barriers; where processors are few, one that waits must not keep another from its work.
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

// Environment is what mpirun needs beside that of every tool of MPI. It runs as whoever we are.
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
