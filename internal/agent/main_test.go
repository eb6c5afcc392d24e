package agent

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/storagebench/storagebench/internal/agent/fio"
	"github.com/storagebench/storagebench/internal/agent/volumes"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/identity"
	"github.com/storagebench/storagebench/internal/process"
	"github.com/storagebench/storagebench/test/hang"
	"github.com/storagebench/storagebench/test/leftover"
)

// scratch is a folder that all tests share. It is removed at the end.
var scratch string

func TestMain(m *testing.M) {
	// MPI calls the program of client 0's agent: in these tests, this test program.
	if code, called := Subcommand(os.Args[1:], os.Stdout, os.Stderr); called {
		os.Exit(code)
	}
	if len(os.Args) > 1 && (strings.HasPrefix(os.Args[1], "--config=") || strings.HasPrefix(os.Args[1], "--install=")) {
		os.Exit(asProgram(os.Args[1:]))
	}
	if _, err := exec.LookPath("fio"); err != nil {
		panic("these tests need fio: " + err.Error())
	}
	var err error
	if scratch, err = os.MkdirTemp("", "storagebench-agent-"); err != nil {
		panic(err)
	}
	// The tests wait more than they compute. A -parallel flag overrides this.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(scratch)
	if code == 0 {
		if err := leftover.Check(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// noLimit is a deadline that no step reaches.
const noLimit = time.Hour

// asProgram runs the agent as a separate process. Unlike the product, it accepts late start orders, so that a busy
// machine does not matter.
func asProgram(arguments []string) int {
	defaultTimeouts.Late = hang.Guard
	var files Files
	flags := flag.NewFlagSet("agent", flag.ContinueOnError)
	flags.StringVar(&files.Config, "config", "", "")
	flags.StringVar(&files.Ready, "ready", "", "")
	flags.StringVar(&files.Lifeline, "lifeline", "", "")
	install := flags.String("install", "", "")
	err := flags.Parse(arguments)
	switch {
	case err != nil:
	case *install != "":
		err = Install(*install)
	default:
		var opened Process
		if opened, err = files.Open(os.Stderr); err == nil {
			err = Serve(opened)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	return 0
}

const runUID = "run-1"

// authority issues the certificates for all tests.
var authority = sync.OnceValue(func() *identity.Authority {
	master, err := identity.NewMaster()
	if err != nil {
		panic(err)
	}
	made, err := identity.ForRun(master, runUID, identity.ValidityOf(time.Now(), time.Hour, time.Hour))
	if err != nil {
		panic(err)
	}
	return made
})

// configuration returns the configuration of an agent whose volume is the given directory.
func configuration(t *testing.T, directory string) Config {
	t.Helper()
	bundle, err := authority().Client("target", 0)
	must(t, err)
	return Config{
		RunUID: runUID, RunName: "run", Target: "target", Listen: "127.0.0.1:0", Identity: bundle,
		Volumes:   []VolumeConfig{{Name: "data", Path: directory}},
		Benchmark: "benchmark", BenchmarkUID: "benchmark-1", DatasetHash: "hash", OrphanTimeout: time.Hour,
	}
}

// rig is an agent that runs in the test's process, with a conductor's connection to it.
type rig struct {
	agentapi.AgentClient
	t         *testing.T
	agent     *Agent
	directory string
}

// serve runs an agent with gRPC and mTLS over loopback. change may alter the agent first.
func serve(t *testing.T, change func(*Agent)) *rig {
	t.Helper()
	return serveAt(t, t.TempDir(), change)
}

func serveAt(t *testing.T, directory string, change func(*Agent)) *rig {
	t.Helper()
	config := configuration(t, directory)
	served := New(config, SystemClock{})
	served.env.Timeouts.Late = hang.Guard
	if change != nil {
		change(served)
	}
	server, err := served.NewServer()
	must(t, err)
	listener, err := net.Listen("tcp", config.Listen)
	must(t, err)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	t.Cleanup(func() {
		served.finish(volumes.Removal{}, "the test is over")
		server.Stop()
		must(t, <-failed)
	})
	return &rig{AgentClient: dial(t, listener.Addr().String()), t: t, agent: served, directory: directory}
}

func dial(t *testing.T, address string) agentapi.AgentClient {
	t.Helper()
	operator, err := authority().Operator()
	must(t, err)
	tls, err := operator.ClientTLS(identity.ClientOf(runUID, "target", 0))
	must(t, err)
	connection, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(credentials.NewTLS(tls)))
	must(t, err)
	t.Cleanup(func() { _ = connection.Close() })
	return agentapi.NewAgentClient(connection)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// dataPath is the path of the client's directory on a volume.
const dataPath = ".storagebench/benchmark-1/hash/client-0"

// global is the section that all jobs share. The file of job 0 is data.0.0.
const global = "[global]\ngroup_reporting=1\nlat_percentiles=1\nfilename_format=data.$jobnum.$filenum\nallow_mounted_write=0\n"

// endlessWrite writes a file of 1 MiB repeatedly until it is stopped; quickWrite writes it once.
var (
	endlessWrite = slowWrite(24 * 3600)
	quickWrite   = global + "ioengine=psync\nrw=write\nbs=4k\nsize=1m\n[job]\n"
)

// slowWrite writes the file repeatedly at 2 MiB/s for the given number of seconds.
func slowWrite(seconds int) string {
	return global + fmt.Sprintf("ioengine=psync\nrw=write\nbs=4k\nsize=1m\nrate=2m\ntime_based=1\nruntime=%d\n[job]\n", seconds)
}

func key(id string) *agentapi.StepKey { return &agentapi.StepKey{Id: id, Attempt: 1} }

// request returns a request to load a job, with samples every 200 ms.
func request(id, job string) *agentapi.LoadRequest {
	return &agentapi.LoadRequest{Epoch: 1, Step: key(id), Dataset: &agentapi.Dataset{}, Tool: &agentapi.LoadRequest_Fio{
		Fio: &agentapi.FioTool{Job: job, Jobs: 1, SampleIntervalNanoseconds: int64(200 * time.Millisecond)}}}
}

func (r *rig) load(request *agentapi.LoadRequest) {
	r.t.Helper()
	_, err := r.Load(r.t.Context(), request)
	must(r.t, err)
}

// start starts a step now, with a deadline.
func (r *rig) start(id string, limit time.Duration) {
	r.t.Helper()
	r.startAt(id, r.agent.env.Clock.Monotonic(), limit)
}

func (r *rig) startAt(id string, at int64, limit time.Duration) {
	r.t.Helper()
	_, err := r.Start(r.t.Context(), &agentapi.StartRequest{
		Epoch: 1, Step: key(id), AtNanoseconds: at, DeadlineNanoseconds: at + int64(limit)})
	must(r.t, err)
}

// finished waits for the end of a step, and returns its result and all its records.
func (r *rig) finished(id string) (*agentapi.Ended, []*agentapi.Record) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), hang.Guard)
	defer cancel()
	stream, err := r.Watch(ctx, &agentapi.WatchRequest{Epoch: 1})
	must(r.t, err)
	var records []*agentapi.Record
	for {
		record, err := stream.Recv()
		if err != nil {
			r.t.Fatalf("step %s hung: %v; so far %v", id, err, records)
		}
		if record.GetStep().GetId() != id {
			continue
		}
		records = append(records, record)
		if ended := record.GetEnded(); ended != nil {
			return ended, records
		}
	}
}

func (r *rig) run(request *agentapi.LoadRequest, limit time.Duration) (*agentapi.Ended, []*agentapi.Record) {
	r.t.Helper()
	r.load(request)
	r.start(request.GetStep().GetId(), limit)
	return r.finished(request.GetStep().GetId())
}

// runningFio is a load that fio runs.
type runningFio interface {
	PID() int
	Documents() int64
}

// tool returns the fio of the live step.
func (r *rig) tool() runningFio {
	r.t.Helper()
	r.agent.mu.Lock()
	defer r.agent.mu.Unlock()
	if r.agent.live == nil {
		r.t.Fatal("no step is live")
	}
	run, ok := r.agent.live.load.(runningFio)
	if !ok {
		r.t.Fatalf("the live step's tool is %T", r.agent.live.load)
	}
	return run
}

func (r *rig) fio() *fio.Tool {
	r.t.Helper()
	found, ok := r.agent.tools.fio.(*fio.Tool)
	if !ok {
		r.t.Fatalf("fio is run by %T", r.agent.tools.fio)
	}
	return found
}

// spare waits for a spare fio and returns its PID.
func (r *rig) spare() (pid int) {
	r.t.Helper()
	eventually(r.t, "there is no spare fio", func() bool {
		pid = r.fio().SparePID()
		return pid != 0
	})
	return pid
}

func (r *rig) dropSpare() {
	r.t.Helper()
	r.spare()
	r.fio().EndSpare()
}

// jobs waits until fio has the wanted number of running jobs. Jobs are processes: the threads that fio starts first, to
// compare the clocks of the CPUs, do not count.
func (r *rig) jobs(want int) []process.Worker {
	r.t.Helper()
	pid := r.tool().PID()
	var workers []process.Worker
	eventually(r.t, "fio's jobs do not run", func() bool {
		workers, _ = process.Workers(pid)
		return len(workers) == want && !slices.ContainsFunc(workers, func(w process.Worker) bool { return w.PID == pid })
	})
	return workers
}

func eventually(t *testing.T, complaint string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang.Guard)
	defer cancel()
	for ctx.Err() == nil {
		if holds() {
			return
		}
		time.Sleep(25 * time.Millisecond)
	}
	t.Fatal("hung: " + complaint)
}

// put creates a file in the client's directory before the first step.
func (r *rig) put(name string, fill func(*os.File)) {
	r.t.Helper()
	request := request("make-directory", "")
	r.load(request)
	_, err := r.Stop(r.t.Context(), &agentapi.StopRequest{Epoch: 1})
	must(r.t, err)
	r.finished("make-directory")
	r.dropSpare()
	file, err := os.Create(filepath.Join(r.directory, dataPath, name))
	must(r.t, err)
	fill(file)
	must(r.t, file.Close())
}

// executable writes a shell script to use in place of fio.
func executable(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fio")
	must(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700))
	return path
}

// fioVersion is the start of such a script: it answers --version as fio does.
const fioVersion = `[ "$1" = --version ] && { echo fio-3.33; exit; }` + "\n"

func sums(operations []*agentapi.OperationResult) (bytes, count uint64) {
	for _, operation := range operations {
		bytes += operation.GetBytes()
		count += operation.GetOperations()
	}
	return bytes, count
}

func sampled(records []*agentapi.Record) (bytes, count uint64) {
	for _, record := range records {
		for _, one := range record.GetSample().GetCounts() {
			bytes += one.GetBytes()
			count += one.GetOperations()
		}
	}
	return bytes, count
}

func notices(ended *agentapi.Ended, records []*agentapi.Record) map[string]string {
	found := map[string]string{}
	for _, notice := range ended.GetNotices() {
		found[notice.GetWarning()] = notice.GetMessage()
	}
	for _, record := range records {
		if notice := record.GetNotice(); notice != nil {
			found[notice.GetWarning()] = notice.GetMessage()
		}
	}
	return found
}

const again = "STORAGEBENCH_TEST_AGAIN"

// withMounts repeats the test in a separate mount namespace, where it may mount anything.
func withMounts(t *testing.T, body func()) {
	t.Helper()
	attributes := &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
	if os.Getuid() != 0 {
		attributes.Cloneflags |= unix.CLONE_NEWUSER
		attributes.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		attributes.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	runAgain(t, attributes, func() {
		must(t, unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
		body()
	})
}

// tmpfs mounts a tmpfs with the given options until the test ends, and returns its directory.
func tmpfs(t *testing.T, options string) (directory string) {
	t.Helper()
	directory = t.TempDir()
	must(t, unix.Mount("none", directory, "tmpfs", 0, options))
	t.Cleanup(func() { _ = unix.Unmount(directory, unix.MNT_DETACH) })
	return directory
}

// runAgain runs the calling test in a second process of this test program, which calls body.
func runAgain(t *testing.T, attributes *syscall.SysProcAttr, body func()) {
	t.Helper()
	if os.Getenv(again) == t.Name() {
		body()
		return
	}
	command := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$", "-test.v")
	command.Env = append(os.Environ(), again+"="+t.Name())
	command.SysProcAttr = attributes
	output, err := command.CombinedOutput()
	if err != nil && command.ProcessState == nil {
		t.Skipf("this machine does not allow it: %v", err)
	}
	if t.Logf("%s", output); err != nil {
		t.Fatalf("in another process: %v", err)
	}
}
