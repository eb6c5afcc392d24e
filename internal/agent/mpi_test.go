package agent

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/storagebench/storagebench/internal/agent/volumes"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/identity"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/test/hang"
	"github.com/storagebench/storagebench/test/standinior"
)

// These tests run the Open MPI, IOR and mdtest of this machine and check what the product assumes about them.
// Assumptions about command lines and output are tested with recorded texts in internal/agent/mpi and
// internal/engine/ior.
//
//	daemons and ranks run on hosts named by address, and all I/O of ranks is counted         TestMPIWritesOverSeveralClients
//	clients with the same address are one host                            TestMPIClientsOfOneHost, TestMPIOnOneMachine
//	ranks work in the directory in which `agent rank` starts them                            TestMPIOwnDirectories
//	ranks may read what ranks on other hosts wrote                                           TestMPIReads
//	system calls are IOR's transfers, and include reads that check writes        TestMPIWarmUp, TestMPIChecksOfWrites
//	mdtest moves no data, but its ranks are found                                            TestMPIMdtest
//	SIGTERM to mpirun ends everything at any moment, and IOR's rows so far count             TestMPIStopsLeaveNothing
//	mpirun ends with its launcher, and the launcher with mpirun           TestMPILostClient, TestMPILostLauncher
//	failures carry IOR's own messages                                                        TestMPIFailuresAreTold
//	MPI needs no home, shell, user name, ssh or writable root             TestMPIAsUnknownUser, TestMPIOverNetworks
//	command lines of daemons                                              internal/agent/mpi TestDaemonsThatMPIGives

// job holds the agents of the clients of one target. Each agent has its own loopback address, so that MPI treats it as
// a host.
type job struct {
	t         *testing.T
	clients   []*rig
	addresses []string
	directory string
	processes int32
	// begun is the ID of the latest step.
	begun string
	// shared is true if all clients work in client 0's directory.
	shared bool
}

// fakeHosts holds MPI settings for several hosts on one machine. Without them, ranks would mistake the shared memory of
// another host for their own.
var fakeHosts = [][2]string{{"btl", "self,tcp"}}

func mpiPath(t *testing.T) string {
	t.Helper()
	programs := t.TempDir()
	must(t, os.Symlink(standinior.Program(t), filepath.Join(programs, "ior")))
	must(t, os.Symlink(standinior.Mdtest(t), filepath.Join(programs, "mdtest")))
	return programs + ":" + os.Getenv("PATH")
}

func clientAddress(client int) string { return fmt.Sprintf("127.0.1.%d:0", client+1) }

// jobs limits the number of concurrent jobs: each has a dozen processes that use the CPU while they start.
var jobs = make(chan struct{}, 2)

// place waits for a free slot and returns a job without clients.
func place(t *testing.T, processes int32) *job {
	t.Helper()
	jobs <- struct{}{}
	t.Cleanup(func() { <-jobs })
	return newPlace(t, processes)
}

// newPlace returns a job without a slot, for a test that runs no MPI.
func newPlace(t *testing.T, processes int32) *job {
	t.Helper()
	return &job{t: t, directory: t.TempDir(), processes: processes, shared: true}
}

func newJob(t *testing.T, clients int, processes int32) *job {
	t.Helper()
	return place(t, processes).withClients(clients)
}

// idleJob returns a job that is never run.
func idleJob(t *testing.T, clients int, processes int32) *job {
	t.Helper()
	return newPlace(t, processes).withClients(clients)
}

func (j *job) withClients(clients int) *job {
	j.t.Helper()
	path := mpiPath(j.t)
	for client := range clients {
		j.serve(client, clientAddress(client), func(a *Agent) { a.env.Path, a.tools.mpi.Settings = path, fakeHosts })
	}
	return j
}

// clientConfiguration returns the configuration of one of several clients.
func clientConfiguration(t *testing.T, directory string, client int, listen string) Config {
	t.Helper()
	config := configuration(t, directory)
	var err error
	config.Client, config.Listen = client, listen
	config.Identity, err = authority().Client("target", client)
	must(t, err)
	return config
}

func (j *job) serve(client int, listen string, change func(*Agent)) {
	j.t.Helper()
	served := New(clientConfiguration(j.t, j.directory, client, listen), SystemClock{})
	served.env.Timeouts.Late = hang.Guard
	change(served)
	server, err := served.NewServer()
	must(j.t, err)
	listener, err := net.Listen("tcp", listen)
	must(j.t, err)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	j.t.Cleanup(func() {
		served.finish(volumes.Removal{}, "the test is over")
		server.Stop()
		must(j.t, <-failed)
	})
	j.add(served, listener.Addr().String())
}

func (j *job) add(served *Agent, address string) {
	j.t.Helper()
	operator, err := authority().Operator()
	must(j.t, err)
	connection := dialAs(j.t, operator, identity.ClientOf(runUID, "target", len(j.clients)), address)
	j.clients = append(j.clients, &rig{AgentClient: agentapi.NewAgentClient(connection), t: j.t, agent: served, directory: j.directory})
	j.addresses = append(j.addresses, address)
}

func dialAs(t *testing.T, bundle identity.Bundle, expect identity.Peer, address string) *grpc.ClientConn {
	t.Helper()
	tls, err := bundle.ClientTLS(expect)
	must(t, err)
	connection, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(credentials.NewTLS(tls)))
	must(t, err)
	t.Cleanup(func() { _ = connection.Close() })
	return connection
}

// request returns the request for one client to load a step.
func (j *job) request(client int, id, program string, arguments ...string) *agentapi.LoadRequest {
	tool := &agentapi.MpiTool{
		Program: program, Arguments: arguments, ProcessesPerClient: j.processes, Shared: j.shared,
		SampleIntervalNanoseconds: int64(500 * time.Millisecond),
	}
	for other, address := range j.addresses {
		one := &agentapi.MpiClient{Client: int32(other)}
		if client == 0 {
			one.Address = address
		}
		tool.Clients = append(tool.Clients, one)
	}
	return &agentapi.LoadRequest{Epoch: 1, Step: key(id), Dataset: &agentapi.Dataset{}, Tool: &agentapi.LoadRequest_Mpi{Mpi: tool}}
}

// begin loads and starts a step on all clients. change may alter each request.
func (j *job) begin(id string, limit time.Duration, change func(*agentapi.MpiTool), program string, arguments ...string) {
	j.t.Helper()
	j.begun = id
	for client, r := range j.clients {
		load := j.request(client, id, program, arguments...)
		if change != nil {
			change(load.GetMpi())
		}
		r.load(load)
	}
	at := j.clients[0].agent.env.Clock.Monotonic() // the same for all, as a conductor does
	for _, r := range j.clients {
		r.startAt(id, at, limit)
	}
}

// end waits until the step has ended on all clients, and returns their results and records in order.
func (j *job) end(id string) ([]*agentapi.Ended, [][]*agentapi.Record) {
	j.t.Helper()
	var all []*agentapi.Ended
	var logs [][]*agentapi.Record
	for _, r := range j.clients {
		ended, records := r.finished(id)
		all, logs = append(all, ended), append(logs, records)
	}
	return all, logs
}

// nothingLeftOf waits until no MPI process of the job is left.
func (j *job) nothingLeftOf() {
	j.t.Helper()
	var left []string
	eventually(j.t, "processes of MPI are left", func() bool {
		left = mpiProcesses(j.t, j.directory)
		return len(left) == 0
	})
}

// mpiProcesses returns the processes whose environment names the directory.
func mpiProcesses(t *testing.T, directory string) []string {
	t.Helper()
	var found []string
	processes, err := filepath.Glob("/proc/[0-9]*")
	must(t, err)
	for _, path := range processes {
		environment, err := os.ReadFile(path + "/environ")
		if err != nil || !strings.Contains(string(environment), "STORAGEBENCH_DIRECTORY"+"="+directory) {
			continue
		}
		words, _ := os.ReadFile(path + "/cmdline")
		found = append(found, filepath.Base(path)+" "+strings.ReplaceAll(string(words), "\x00", " "))
	}
	return found
}

func oneWrite(tool *agentapi.MpiTool) {
	tool.Operations, tool.Repetitions = []uint32{uint32(measure.Write)}, 1
}

func TestMPIWritesOverSeveralClients(t *testing.T) {
	t.Parallel()
	const clients, processes, blockMiB = 3, 2, 16
	j := newJob(t, clients, processes)
	j.begin("a", noLimit, oneWrite, "ior", "-a", "POSIX", "-t", "1m", "-b", "16m", "-F", "-w", "-k", "-o", "data", "-O", "summaryFormat=CSV")
	ended, logs := j.end("a")
	j.nothingLeftOf()
	for client, one := range ended {
		if one.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
			t.Fatalf("client %d: %v", client, one)
		}
		const want = processes * blockMiB << 20
		bytes, operations := sums(one.GetOperations())
		if bytes < want || bytes > want+want/50 || operations < processes*blockMiB || operations > processes*blockMiB+400 {
			t.Errorf("client %d: %d bytes in %d operations, want %d in %d", client, bytes, operations, want, processes*blockMiB)
		}
		if got, _ := sampled(logs[client]); got != bytes {
			t.Errorf("client %d: samples add up to %d bytes, the result says %d", client, got, bytes)
		}
		if one.GetIoEndNanoseconds() <= one.GetIoStartNanoseconds() || one.GetIoStartNanoseconds() == 0 {
			t.Errorf("client %d: its I/O was from %d to %d", client, one.GetIoStartNanoseconds(), one.GetIoEndNanoseconds())
		}
		released := logs[client][0].GetStarted().GetReleasedNanoseconds()
		t.Logf("client %d: %d bytes too many, first I/O after %s, notices %v", client, bytes-want,
			time.Duration(one.GetIoStartNanoseconds()-released), notices(one, logs[client]))
	}
	figures := ended[0].GetMpi()
	if figures.GetRanks() != clients*processes || figures.GetClients() != clients || !strings.HasPrefix(figures.GetMpiVersion(), "4.1") ||
		figures.GetCommandLine()[0] != "ior" || len(figures.GetRepetitions()) != 1 {
		t.Fatalf("its figures: %v", figures)
	}
	row := figures.GetRepetitions()[0]
	if row.GetBytes() != clients*processes*blockMiB<<20 || row.GetOperation() != uint32(measure.Write) || row.GetEndedNanoseconds() == 0 {
		t.Errorf("repetition %v", row)
	}
	if ended[1].GetMpi() != nil {
		t.Errorf("a member has figures: %v", ended[1].GetMpi())
	}
	files, err := filepath.Glob(filepath.Join(j.directory, dataPath, "data*"))
	must(t, err)
	if len(files) != clients*processes {
		t.Errorf("files of the ranks: %v", files)
	}
}
