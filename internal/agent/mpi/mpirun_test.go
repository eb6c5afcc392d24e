package mpi

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/internal/agent/agenttest"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/test/golden"
)

func TestParseMPIVersion(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/\n": "4.1.4 orted",
		"mpirun (Open MPI) 5.0.11\n":           "5.0.11 prted",
		"mpirun (Open MPI) 4.1.5rc2":           "4.1.5rc2 orted",
		"mpirun (Open MPI) 3.1.3":              "use an image with Open MPI 4 or 5",
		"mpirun (Open MPI) 6.0.0":              "use an image with Open MPI 4 or 5",
		"HYDRA build details:\nVersion: 4.0.2": `its version is "HYDRA build details:"`,
		"":                                     "does not belong to Open MPI",
	} {
		got, err := parseVersion(said)
		if text := got.text + " " + got.daemon(); err == nil && text != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v; want %q", said, text, err, want)
		}
	}
}

func mpiTool(processes int32, addresses ...string) *agentapi.MpiTool {
	tool := &agentapi.MpiTool{ProcessesPerClient: processes, Program: "ior", Arguments: []string{"-a", "POSIX", "-o", "a file"}}
	for client, address := range addresses {
		tool.Clients = append(tool.Clients, &agentapi.MpiClient{Client: int32(client), Address: address})
	}
	return tool
}

func TestMPICommandLines(t *testing.T) {
	t.Parallel()
	hosts := map[string][]string{
		"one":    {"127.0.0.1:1001", "127.0.0.1:1002", "127.0.0.1:1003"},
		"pods":   {"10.244.1.5:9000", "10.244.2.7:9000", "10.244.1.6:9000", "10.244.2.7:9001"},
		"here":   {"127.44.0.1:9000", "127.44.1.2:9000"},
		"ipv6":   {"[fd00::5]:9000", "[fd00::6]:9000"},
		"remote": {"10.0.0.1:1", "192.168.1.1:1"},
	}
	for name, addresses := range hosts {
		for _, version := range []version{{text: "4.1.4", major: 4}, {text: "5.0.11", major: 5}} {
			given := mpiTool(2, addresses...)
			found, err := hostsOf(given)
			agenttest.Must(t, err)
			job := job{
				version: version, hosts: found, hostfile: "/scratch/hosts", agent: "/bin/agent", scratch: "/scratch",
				network: network(found), nic: "eth0", program: given.GetProgram(), arguments: given.GetArguments(),
			}
			text := strings.Join(job.command(), "\n") + "\n\n" + strings.Join(job.environment(), "\n") + "\n\n" + hostfile(found)
			golden.Check(t, filepath.Join("mpirun", name+"-"+version.text), text)
		}
	}
}

func TestMPIHostsRefuses(t *testing.T) {
	t.Parallel()
	swapped := mpiTool(1, "10.0.0.1:1", "10.0.0.2:1")
	swapped.Clients[0], swapped.Clients[1] = swapped.GetClients()[1], swapped.GetClients()[0]
	for want, given := range map[string]*agentapi.MpiTool{
		"lists no clients":    mpiTool(1),
		"0 processes":         mpiTool(0, "10.0.0.1:1"),
		"want an IP address":  mpiTool(1, "name:1"),
		"address of client 1": mpiTool(1, "10.0.0.1:1", ""),
		"is at index 0":       swapped,
	} {
		if got, err := hostsOf(given); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", want, got, err)
		}
	}
	if err := checkAgentPath("/opt/my agent"); err == nil {
		t.Error("a path with a blank is let through")
	}
}

// TestRankEnvironment checks that a rank gets only the variables that MPI and the tool need, and above all no key that
// gives access to other clients.
func TestRankEnvironment(t *testing.T) {
	t.Parallel()
	got := strings.Join(rankEnvironment([]string{
		"PATH=/bin", "TMPDIR=/scratch", "OMPI_COMM_WORLD_RANK=0", "PMIX_RANK=0", "STORAGEBENCH_PROCESS=x",
		launchFile + "=/proc/1/fd/3", rankDirectory + "=/data", "SECRET=1", "LD_PRELOAD=/x.so",
	}), " ")
	want := "PATH=/bin TMPDIR=/scratch OMPI_COMM_WORLD_RANK=0 PMIX_RANK=0 STORAGEBENCH_PROCESS=x " +
		"OMPI_MCA_btl_vader_backing_directory=/scratch OMPI_MCA_btl_sm_backing_directory=/scratch"
	if got != want {
		t.Errorf("got %s", got)
	}
}

// TestRankLeavesOutputToFirst checks that only the first rank of IOR prints to standard output, so that no other rank
// splits its lines.
func TestRankLeavesOutputToFirst(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	for _, program := range rankPrograms {
		agenttest.Must(t, os.WriteFile(filepath.Join(directory, program), []byte("#!/bin/sh\necho figures\n"), 0o755))
	}
	found, err := os.Stat(directory)
	agenttest.Must(t, err)
	for _, test := range []struct{ program, rank, stdout, stderr string }{
		{"ior", "PMIX_RANK=0", "figures\n", ""},
		{"ior", "OMPI_COMM_WORLD_RANK=3", "", "figures\n"},
		{"ior", "X=", "figures\n", ""},
		{"mdtest", "PMIX_RANK=3", "figures\n", ""},
	} {
		command := exec.Command(os.Args[0], "rank", "--", test.program, "-a", "POSIX")
		command.Env = []string{"PATH=" + directory + ":/bin", rankDirectory + "=" + directory, rankDevice + "=" + directoryID(found), test.rank}
		var stdout, stderr strings.Builder
		command.Stdout, command.Stderr = &stdout, &stderr
		if err := command.Run(); err != nil || stdout.String() != test.stdout || stderr.String() != test.stderr {
			t.Errorf("%s of %s: %v, stdout %q, stderr %q", test.program, test.rank, err, stdout.String(), stderr.String())
		}
	}
}

func TestRankRefuses(t *testing.T) {
	t.Parallel()
	for _, arguments := range [][]string{{}, {"--"}, {"ior"}, {"--", "sh", "-c", "true"}, {"--", "/bin/ior"}, {"--", "ior"}} {
		if err := Rank(arguments); err == nil {
			t.Errorf("%q became a rank", arguments)
		}
	}
}
