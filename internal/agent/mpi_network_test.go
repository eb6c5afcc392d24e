package agent

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/identity"
	"github.com/storagebench/storagebench/internal/process"
	"github.com/storagebench/storagebench/test/standinior"
)

// TestMPIOverNetworks checks that MPI works between separate hosts. Like a pod, each agent has its own network, host
// name and address, an unknown user, no ssh, and no setting that pods lack. OPENMPI_PREFIX selects another Open MPI
// than the one in PATH.
func TestMPIOverNetworks(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can make networks")
	}
	if os.Getenv(again) != t.Name() {
		standinior.Program(t) // build it before the test enters its namespaces
		standinior.Mdtest(t)
		self, err := os.Executable()
		must(t, err)
		t.Setenv(agentVariable, self)
	}
	attributes := &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWNET}
	runAgain(t, attributes, func() {
		must(t, unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
		must(t, unix.Mount("none", "/run", "tmpfs", 0, "mode=755"))
		must(t, unix.Mount("none", "/mnt", "tmpfs", 0, "mode=1777"))
		must(t, process.SetSubreaper())
		for _, name := range []string{"ssh", "rsh"} {
			if path, err := exec.LookPath(name); err == nil {
				if path, err = filepath.EvalSymlinks(path); err == nil {
					must(t, unix.Mount("/dev/null", path, "", unix.MS_BIND, ""))
				}
			}
		}
		ip(t, "link set lo up", "link add br0 type bridge", "addr add 10.98.0.1/24 dev br0", "link set br0 up")
		overNetworks(t)
	})
}

const (
	agentVariable = "STORAGEBENCH_TEST_AGENT"
	unknownUser   = 12345
)

func ip(t *testing.T, commands ...string) {
	t.Helper()
	must(t, os.MkdirAll("/run/netns", 0o755))
	for _, command := range commands {
		if output, err := exec.CommandContext(t.Context(), "ip", strings.Fields(command)...).CombinedOutput(); err != nil {
			t.Skipf("this machine does not allow it: ip %s: %v: %s", command, err, output)
		}
	}
}

func copyProgram(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	must(t, err)
	must(t, os.WriteFile(to, text, 0o755))
}

func overNetworks(t *testing.T) {
	t.Helper()
	for _, folder := range []string{"/mnt/bin", "/mnt/data"} {
		must(t, os.Mkdir(folder, 0o755))
		must(t, os.Chmod(folder, 0o755))
	}
	must(t, os.Chown("/mnt/data", unknownUser, unknownUser))
	copyProgram(t, os.Getenv(agentVariable), "/mnt/bin/agent")
	copyProgram(t, standinior.Program(t), "/mnt/bin/ior")
	copyProgram(t, standinior.Mdtest(t), "/mnt/bin/mdtest")
	j := &job{t: t, directory: "/mnt/data", processes: 2, shared: true}
	for client := range 3 {
		j.network(client)
	}
	t.Log("Open MPI ", j.mpiVersion())
	for round, arguments := range [][]string{{"-a", "POSIX"}, {"-a", "MPIIO", "-c"}} {
		id := fmt.Sprint("round-", round)
		change := func(tool *agentapi.MpiTool) { oneWrite(tool); tool.Collective = round == 1 }
		j.begin(id, noLimit, change, "ior", append(arguments, "-t", "1m", "-b", "8m", "-w", "-o", "data", "-O", "summaryFormat=CSV")...)
		ended, logs := j.end(id)
		for client, one := range ended {
			if bytes, _ := sums(one.GetOperations()); one.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE || bytes == 0 || round == 0 && bytes < 16<<20 {
				t.Errorf("round %d, client %d: %v, %v", round, client, one, notices(one, logs[client]))
			}
			if told := notices(one, logs[client])["BytesUncertain"] != ""; told != (round == 1 && client == 0) {
				t.Errorf("round %d, client %d: %v", round, client, notices(one, logs[client]))
			}
		}
	}
}

func (j *job) mpiVersion() string {
	answer, err := j.clients[0].Describe(j.t.Context(), &agentapi.DescribeRequest{Epoch: 1})
	must(j.t, err)
	return answer.GetTools()[1].GetVersion()
}

// network starts an agent in its own network, and waits until it answers.
func (j *job) network(client int) {
	t := j.t
	t.Helper()
	name, address := fmt.Sprint("pod-", client), fmt.Sprintf("10.98.0.%d", client+4)
	ip(t, "netns add "+name, fmt.Sprintf("link add v%d type veth peer name eth0 netns %s", client, name), fmt.Sprintf("link set v%d master br0 up", client),
		fmt.Sprintf("-n %s addr add %s/24 dev eth0", name, address), fmt.Sprintf("-n %s link set eth0 up", name), fmt.Sprintf("-n %s link set lo up", name))
	config := clientConfiguration(t, j.directory, client, address+":7000")
	text, err := json.Marshal(config)
	must(t, err)
	scratch := filepath.Join("/mnt", name)
	must(t, os.Mkdir(scratch, 0o700))
	file := filepath.Join(scratch, "agent.json")
	must(t, os.WriteFile(file, text, 0o600))
	must(t, os.Chown(file, unknownUser, unknownUser))
	must(t, os.Chown(scratch, unknownUser, unknownUser))
	id := fmt.Sprint(unknownUser)
	command := exec.Command("ip", "netns", "exec", name, "unshare", "--uts", "sh", "-c", "hostname "+name+` && exec "$@"`, "sh",
		"setpriv", "--reuid="+id, "--regid="+id, "--clear-groups", "--bounding-set=-all", "--no-new-privs", "/mnt/bin/agent", "--config="+file)
	command.Env = []string{"PATH=/mnt/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR=" + scratch}
	if prefix := os.Getenv("OPENMPI_PREFIX"); prefix != "" {
		command.Env = []string{"PATH=/mnt/bin:" + prefix + "/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR=" + scratch, "LD_LIBRARY_PATH=" + prefix + "/lib"}
	}
	command.Stderr = os.Stderr
	must(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
	})
	operator, err := authority().Operator()
	must(t, err)
	connection := dialAs(t, operator, identity.ClientOf(runUID, "target", client), address+":7000")
	added := &rig{AgentClient: agentapi.NewAgentClient(connection), t: t, agent: New(config, SystemClock{}), directory: j.directory}
	eventually(t, name+" does not answer", func() bool {
		_, err := added.Describe(t.Context(), &agentapi.DescribeRequest{Epoch: 1})
		return err == nil
	})
	j.clients, j.addresses = append(j.clients, added), append(j.addresses, address+":7000")
}
