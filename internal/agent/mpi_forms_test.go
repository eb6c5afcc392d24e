package agent

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/test/standinior"
)

// measured makes a job write until it is stopped, with a warm-up of half a second.
func measured(tool *agentapi.MpiTool) {
	tool.Operations, tool.Limited = []uint32{uint32(measure.Write)}, true
	tool.WarmUpNanoseconds, tool.DurationNanoseconds = int64(500*time.Millisecond), int64(time.Hour)
}

func TestMPIWarmUp(t *testing.T) {
	t.Parallel()
	j := newJob(t, 2, 1)
	j.begin("a", noLimit, measured, "ior", endless...)
	for client := range j.clients {
		j.sample(client, func(one *agentapi.Sample) bool { return !one.GetWarmUp() })
	}
	j.stop("enough")
	ended, logs := j.end("a")
	for client, one := range ended {
		var warm, later int
		for _, record := range logs[client] {
			switch sample := record.GetSample(); {
			case sample == nil:
			case !sample.GetWarmUp():
				later++
			case later > 0:
				t.Errorf("client %d: a sample of the warm-up follows one that is not", client)
			default:
				warm++
			}
		}
		if warm == 0 || later == 0 {
			t.Errorf("client %d: %d samples of the warm-up, %d after it", client, warm, later)
		}
		if bytes, _ := sums(one.GetOperations()); bytes == 0 {
			t.Errorf("client %d: %v", client, one)
		}
	}
}

// TestMPIReads checks that a step can read what ranks on other clients wrote in the previous step, and that it has
// figures.
func TestMPIReads(t *testing.T) {
	t.Parallel()
	const bytes = 8 << 20
	j := newJob(t, 2, 2)
	arguments := []string{"-a", "POSIX", "-t", "1m", "-b", "8m", "-F", "-k", "-o", "data"}
	j.begin("write", noLimit, oneWrite, "ior", append([]string{"-w"}, arguments...)...)
	j.end("write")
	j.begin("read", noLimit, func(tool *agentapi.MpiTool) {
		tool.Operations, tool.Repetitions = []uint32{uint32(measure.Read)}, 2
	}, "ior", append([]string{"-r", "-C", "-i", "2"}, arguments...)...)
	ended, logs := j.end("read")
	j.nothingLeftOf()
	for client, one := range ended {
		const want = 2 * 2 * bytes
		got, _ := sums(one.GetOperations())
		if one.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE || got < want || got > want+want/50 || len(one.GetOperations()) != 1 {
			t.Errorf("client %d: %d bytes, want %d: %v", client, got, want, one)
		}
		if told := notices(one, logs[client]); told["BytesUncertain"] != "" || told["SamplesLost"] != "" {
			t.Errorf("client %d: %v", client, told)
		}
	}
	if rows := ended[0].GetMpi().GetRepetitions(); len(rows) != 2 || rows[0].GetEndedNanoseconds() > rows[1].GetEndedNanoseconds() {
		t.Errorf("repetitions %v", rows)
	}
}

// TestMPIOwnDirectories checks that each client works in its own directory if the volume is not shared.
func TestMPIOwnDirectories(t *testing.T) {
	t.Parallel()
	j := newJob(t, 2, 2)
	j.shared = false
	j.begin("a", noLimit, oneWrite, "ior", "-a", "POSIX", "-t", "1m", "-b", "4m", "-F", "-w", "-k", "-o", "data")
	ended, _ := j.end("a")
	var found []string
	must(t, filepath.WalkDir(j.directory, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(entry.Name(), "data") {
			found = append(found, filepath.Base(filepath.Dir(path))+"/"+entry.Name())
		}
		return err
	}))
	want := []string{"client-0/data.00000000", "client-0/data.00000001", "client-1/data.00000002", "client-1/data.00000003"}
	if slices.Sort(found); !slices.Equal(found, want) {
		t.Errorf("%v: files %v, want %v", ended[0], found, want)
	}
}

// TestMPIClientsOfOneHost checks that clients with the same address are treated as one host. The first of them runs all
// ranks of the host, and the parts of the others end with the job.
func TestMPIClientsOfOneHost(t *testing.T) {
	t.Parallel()
	j := place(t, 2)
	path := mpiPath(t)
	for client, listen := range []string{"127.0.0.1:0", "127.0.0.1:0", "127.0.1.2:0", "127.0.1.2:0"} {
		j.serve(client, listen, func(a *Agent) { a.env.Path, a.tools.mpi.Settings = path, fakeHosts })
	}
	j.begin("a", noLimit, oneWrite, "ior", "-a", "POSIX", "-t", "1m", "-b", "16m", "-F", "-w", "-o", "data")
	ended, _ := j.end("a")
	j.nothingLeftOf()
	for client, want := range []uint64{4 * 16 << 20, 0, 4 * 16 << 20, 0} {
		bytes, _ := sums(ended[client].GetOperations())
		// The meter finds the ranks of clients that share an address late, so up to 1 % may be missing.
		if ended[client].GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE || bytes < want-want/100 || bytes > want+want/50 || len(ended[client].GetNotices()) > 0 {
			t.Errorf("client %d: %d bytes, want %d: %v", client, bytes, want, ended[client])
		}
	}
}

func TestMPIMdtest(t *testing.T) {
	t.Parallel()
	j := newJob(t, 2, 2)
	j.begin("a", noLimit, nil, "mdtest", "-n", "200", "-F", "-d", "tree", "-u")
	ended, _ := j.end("a")
	j.nothingLeftOf()
	figures := ended[0].GetMpi()
	at := slices.IndexFunc(figures.GetRates(), func(rate *agentapi.MdtestRate) bool { return rate.GetOperation() == "File creation" })
	if ended[0].GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE || at < 0 || figures.GetRates()[at].GetMeanOperationsPerSecond() <= 0 {
		t.Fatalf("got %v", ended[0])
	}
	for client, one := range ended {
		if one.GetIoStartNanoseconds() == 0 || one.GetIoEndNanoseconds() <= one.GetIoStartNanoseconds() {
			t.Errorf("client %d: %v", client, one)
		}
	}
}

func TestDescribeTellsMPI(t *testing.T) {
	t.Parallel()
	j := idleJob(t, 1, 1)
	answer, err := j.clients[0].Describe(t.Context(), &agentapi.DescribeRequest{Epoch: 1})
	must(t, err)
	found := map[string]*agentapi.Tool{}
	for _, tool := range answer.GetTools() {
		found[tool.GetName()] = tool
	}
	for _, name := range []string{"fio", "mpirun", "ior", "mdtest"} {
		if tool := found[name]; tool.GetProblem() != "" || tool.GetPath() == "" || tool.GetVersion() == "" {
			t.Errorf("%s: %v", name, tool)
		}
	}
	j.clients[0].agent.env.Path = t.TempDir()
	without := New(j.clients[0].agent.env.Config, SystemClock{})
	without.env.Path = t.TempDir()
	for _, tool := range without.tools.describe(t.Context())[1:] {
		if !strings.Contains(tool.GetProblem(), "not in this image") {
			t.Errorf("got %v", tool)
		}
	}
}

// TestMPIAsUnknownUser checks that MPI works for a user without an entry in /etc/passwd, a home or a shell, on a
// read-only root file system.
func TestMPIAsUnknownUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can become somebody else")
	}
	const user = 12345
	if os.Getenv(again) != t.Name() {
		standinior.Program(t) // build it before the test enters its namespaces
		standinior.Mdtest(t)
	}
	withMounts(t, func() {
		// The programs are on a new tmpfs, and all other files are read-only.
		inside := filepath.Join("/mnt", "programs")
		must(t, unix.Mount("none", "/mnt", "tmpfs", 0, "mode=755"))
		must(t, os.Mkdir(inside, 0o755))
		for name, path := range map[string]string{"ior": standinior.Program(t), "mdtest": standinior.Mdtest(t), "agent.test": "/proc/self/exe"} {
			text, err := os.ReadFile(path)
			must(t, err)
			must(t, os.WriteFile(filepath.Join(inside, name), text, 0o755))
			must(t, os.Chmod(filepath.Join(inside, name), 0o755)) // independent of the umask
		}
		must(t, unix.Mount("none", "/tmp", "tmpfs", 0, "mode=1777"))
		must(t, unix.Mount("none", "/", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""))
		command := exec.CommandContext(t.Context(), filepath.Join(inside, "agent.test"), "-test.run=^TestMPIInside$", "-test.v")
		command.Env = []string{"PATH=" + inside + ":/usr/bin:/bin", insideVariable + "=1",
			standinior.IORVariable + "=" + filepath.Join(inside, "ior"), standinior.MdtestVariable + "=" + filepath.Join(inside, "mdtest")}
		command.Dir = "/"
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
		output, err := command.CombinedOutput()
		t.Logf("%s", output)
		must(t, err)
	})
}

const insideVariable = "STORAGEBENCH_TEST_INSIDE"

func TestMPIInside(t *testing.T) {
	if os.Getenv(insideVariable) == "" {
		t.Skip("it is run by TestMPIAsUnknownUser")
	}
	if err := os.WriteFile("/var/tmp/x", nil, 0o600); err == nil {
		t.Fatal("the root file system can be written")
	}
	j := newJob(t, 2, 2)
	for round := range 2 {
		id := fmt.Sprint("step-", round)
		j.begin(id, noLimit, oneWrite, "ior", "-a", "POSIX", "-t", "1m", "-b", "8m", "-F", "-w", "-o", "data")
		ended, _ := j.end(id)
		for client, one := range ended {
			if bytes, _ := sums(one.GetOperations()); one.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE || bytes < 16<<20 {
				t.Errorf("client %d: %v", client, one)
			}
		}
	}
	j.nothingLeftOf()
}

// TestMPIOnOneMachine checks a local run, in which all clients are on one machine: mpirun starts all ranks itself, and
// they communicate through shared memory.
func TestMPIOnOneMachine(t *testing.T) {
	t.Parallel()
	j := place(t, 2)
	path := mpiPath(t)
	for client := range 2 {
		j.serve(client, "127.0.0.1:0", func(a *Agent) { a.env.Path = path })
	}
	for _, api := range []string{"MPIIO"} {
		j.begin(api, noLimit, oneWrite, "ior", "-a", api, "-t", "1m", "-b", "16m", "-w", "-o", "data")
		ended, _ := j.end(api)
		j.nothingLeftOf()
		for client, want := range []uint64{4 * 16 << 20, 0} {
			bytes, _ := sums(ended[client].GetOperations())
			if ended[client].GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE || bytes < want || bytes > want+want/50 {
				t.Errorf("%s, client %d: %d bytes, want %d: %v", api, client, bytes, want, ended[client])
			}
		}
	}
}

// TestMPIChecksOfWrites checks reads that verify written data: they are in the samples, but IOR does not report them. A
// step that also reads gets a notice about this, and a step that only writes has no reads in its figures.
func TestMPIChecksOfWrites(t *testing.T) {
	t.Parallel()
	const bytes = 16 << 20
	j := newJob(t, 1, 2)
	arguments := []string{"-a", "POSIX", "-t", "1m", "-b", "8m", "-s", "1", "-F", "-k", "-l", "o", "-G", "7", "-W", "-w", "-o", "data", "-O", "summaryFormat=CSV"}
	j.begin("both", noLimit, func(tool *agentapi.MpiTool) {
		tool.Operations, tool.Repetitions = []uint32{uint32(measure.Write), uint32(measure.Read)}, 1
	}, "ior", append([]string{"-r", "-R"}, arguments...)...)
	both, _ := j.end("both")
	j.begin("write", noLimit, oneWrite, "ior", arguments...)
	write, _ := j.end("write")
	j.nothingLeftOf()
	// The data is read twice: to verify the write, and as the read.
	for operation, want := range map[measure.Operation]uint64{measure.Write: bytes, measure.Read: 2 * bytes} {
		var got uint64
		for _, one := range both[0].GetOperations() {
			if measure.Operation(one.GetOperation()) == operation {
				got = one.GetBytes()
			}
		}
		if got < want || got > want+want/50 {
			t.Errorf("%v of %d bytes, want %d: %v", operation, got, want, both[0])
		}
	}
	for _, repetition := range both[0].GetMpi().GetRepetitions() {
		if repetition.GetBytes() != bytes || !repetition.GetBytesExact() {
			t.Errorf("IOR's own figures are %v, want %d bytes", repetition, bytes)
		}
	}
	if told := both[0].GetNotices(); len(told) != 1 || told[0].GetWarning() != "BytesUncertain" || !strings.Contains(told[0].GetMessage(), "read back to check") {
		t.Errorf("both: %v", told)
	}
	if len(write[0].GetOperations()) != 1 || len(write[0].GetNotices()) > 0 {
		t.Errorf("write: %v", write[0])
	}
}
