package conductor_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/conductor"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/test/builders"
)

// jobStep returns the last step of a benchmark of three clients with two ranks each.
func jobStep(t *testing.T, change func(*builders.BenchmarkBuilder) *builders.BenchmarkBuilder) plan.Step {
	t.Helper()
	steps := jobSteps(t, change)
	return steps[len(steps)-1]
}

func jobSteps(t *testing.T, change func(*builders.BenchmarkBuilder) *builders.BenchmarkBuilder) []plan.Step {
	t.Helper()
	benchmark := builders.Benchmark("b").Target("target").Clients(3).Processes(2).Load(builders.IOR().Engine())
	planned, problems := plan.Make(change(benchmark).Run(), 1)
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	return planned.Steps
}

func layOut(b *builders.BenchmarkBuilder) *builders.BenchmarkBuilder { return b.Prepare("layout") }

func readBack(b *builders.BenchmarkBuilder) *builders.BenchmarkBuilder {
	return b.Prepare("layout").Steady("read", "30s").WarmUp("5s").WithLoad(builders.IOR().Reads().Engine())
}

var addresses = []string{"10.0.0.1:7440", "10.0.0.2:7440", "[fd00::3]:7440"}

func names(files []*agentapi.DataFile) string {
	var all []string
	for _, file := range files {
		all = append(all, fmt.Sprintf("%s=%d", strings.TrimPrefix(file.GetName(), "ior.data"), file.GetBytes()>>20))
	}
	return strings.Join(all, " ")
}

func TestJobRequests(t *testing.T) {
	t.Parallel()
	const all, second = ".00000000=16 .00000001=16 .00000002=16 .00000003=16 .00000004=16 .00000005=16", ".00000002=16 .00000003=16"
	measured := func(b *builders.BenchmarkBuilder) *builders.BenchmarkBuilder {
		return b.Steady("write", "30s").WarmUp("5s")
	}
	drained := func(b *builders.BenchmarkBuilder) *builders.BenchmarkBuilder {
		return b.BurstDrain("burst", "2m", "1h")
	}
	noReorder := func(b *builders.BenchmarkBuilder) *builders.BenchmarkBuilder {
		return b.PerClient().Prepare("layout").Steady("read", "30s").WithLoad(builders.IOR().Reads().Mutate(func(p *v1alpha1.IORProfile) { p.ReorderTasks = v1alpha1.IORReorderNone }).Engine())
	}
	metadata := func(b *builders.BenchmarkBuilder) *builders.BenchmarkBuilder {
		return b.Steady("meta", "10m").WithLoad(builders.Mdtest())
	}
	for name, test := range map[string]struct {
		step   plan.Step
		client int
		job    conductor.Job
		// files, reads and writes describe the client's directory. addressed is true if the client gets the addresses of the
		// others.
		files, reads, writes string
		newBytes             uint64
		content, addressed   bool
		duration             time.Duration
		repetitions          int32
		limited              bool
		operations           []uint32
		arguments            string
	}{
		"prepare, launcher": {step: jobStep(t, layOut), job: conductor.Job{Shared: true, Addresses: addresses},
			files: all, writes: all, newBytes: 96 << 20, content: true, addressed: true, repetitions: 1, operations: []uint32{uint32(measure.Write)},
			arguments: "-a POSIX -t 1m -b 16m -s 1 -F -w -e -i 1 -k -O summaryFormat=CSV -o ior.data"},
		"prepare, member": {step: jobStep(t, layOut), client: 1, job: conductor.Job{Shared: true, Addresses: addresses},
			content: true, repetitions: 1, operations: []uint32{uint32(measure.Write)}, arguments: "-a POSIX -t 1m -b 16m -s 1 -F -w -e -i 1 -k -O summaryFormat=CSV -o ior.data"},
		"read of its own volume": {step: jobStep(t, noReorder), client: 1, job: conductor.Job{},
			files: second, reads: second, duration: 30 * time.Second, repetitions: 1, operations: []uint32{uint32(measure.Read)},
			arguments: "-a POSIX -t 1m -b 16m -s 1 -F -r -i 1 -k -D 30 -O minTimeDuration=30 -O summaryFormat=CSV -o ior.data"},
		"measured by an old version": {step: jobStep(t, measured), job: conductor.Job{Shared: true, Version: "3.3.0"},
			files: all, newBytes: 96 << 20, content: true, duration: 30 * time.Second, repetitions: 1, operations: []uint32{uint32(measure.Write)},
			arguments: "-a POSIX -t 1m -b 16m -s 1 -F -w -e -i 1 -k -D 35 -O summaryFormat=default -o ior.data"},
		"drain": {step: jobStep(t, drained), job: conductor.Job{Shared: true},
			files: all, newBytes: 96 << 20, content: true, limited: true, operations: []uint32{uint32(measure.Write)},
			arguments: "-a POSIX -t 1m -b 16m -s 1 -F -w -e -i 50000 -k -T 60 -O summaryFormat=CSV -o ior.data"},
		"mdtest": {step: jobStep(t, metadata), job: conductor.Job{Shared: true}, newBytes: 6 * 100 * 4096, repetitions: 1,
			arguments: "-n 100 -w 4096 -e 4096 -u -i 1 -d mdtest"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := conductor.LoadRequest(test.step, clientKey(test.client), 42, test.job)
			must(t, err)
			again, err := conductor.LoadRequest(test.step, clientKey(test.client), 42, test.job)
			must(t, err)
			if !proto.Equal(got, again) {
				t.Error("the same step of the same client is not the same request")
			}
			tool, dataset := got.GetMpi(), got.GetDataset()
			if names(dataset.GetFiles()) != test.files || names(dataset.GetReads()) != test.reads || names(dataset.GetWrites()) != test.writes {
				t.Errorf("files %s, reads %s, writes %s", names(dataset.GetFiles()), names(dataset.GetReads()), names(dataset.GetWrites()))
			}
			if dataset.GetNewBytes() != test.newBytes || (dataset.GetContent() != "") != test.content || dataset.GetReuse() {
				t.Errorf("%d new bytes, content %q", dataset.GetNewBytes(), dataset.GetContent())
			}
			if text := strings.Join(tool.GetArguments(), " "); text != test.arguments {
				t.Errorf("got  %s\nwant %s", text, test.arguments)
			}
			if tool.GetProcessesPerClient() != 2 || len(tool.GetClients()) != 3 || tool.GetShared() != test.job.Shared || tool.GetDurationNanoseconds() != int64(test.duration) ||
				tool.GetRepetitions() != test.repetitions || tool.GetLimited() != test.limited || !slices.Equal(tool.GetOperations(), test.operations) {
				t.Errorf("tool %v", tool)
			}
			for index, member := range tool.GetClients() {
				want := ""
				if test.addressed {
					want = addresses[index]
				}
				if int(member.GetClient()) != index || member.GetAddress() != want {
					t.Errorf("client %d is %v", index, member)
				}
			}
		})
	}
}

// TestJobOfAgents checks that versions and addresses of an MPI job come from the agents, and that a job with different
// versions is refused.
func TestJobOfAgents(t *testing.T) {
	t.Parallel()
	step := jobStep(t, readBack)
	connect := func(versions ...string) (*conductor.Conductor, []string) {
		c := conductor.New(conductor.Options{RunUID: runUID, Epoch: 1, LossTimeout: time.Minute, Tools: func(string) []string { return []string{"ior", "mpirun"} }})
		t.Cleanup(c.Close)
		var found []string
		for index, version := range versions {
			described := good()
			described.Client = int32(index)
			described.Tools = []*agentapi.Tool{{Name: "fio", Problem: "it is not there"}, {Name: "ior", Version: version}, {Name: "mpirun", Version: "4.1.4"}}
			address := serve(t, index, &fake{describe: described})
			found = append(found, address)
			c.Connect(endpoint(t, index, address))
		}
		for index := range versions {
			await(t, c, index, "ready", is(decide.Ready))
		}
		return c, found
	}
	everywhere := func(string) bool { return true }
	keys := []decide.ClientKey{clientKey(0), clientKey(1), clientKey(2)}
	c, found := connect("4.0.0", "IOR-4.0.0", "4.0.0")
	requests, err := c.Requests(step, 1, keys, 1, everywhere)
	must(t, err)
	for index, member := range requests(clientKey(0)).GetMpi().GetClients() {
		if member.GetAddress() != found[index] {
			t.Errorf("client %d is at %s, client 0 got %s", index, found[index], member.GetAddress())
		}
	}
	// A client that did not answer in time gets the identical request on its own.
	again, err := c.Requests(step, 1, keys[:1], 1, everywhere)
	must(t, err)
	if !proto.Equal(requests(clientKey(0)), again(clientKey(0))) {
		t.Error("the repeated request is different")
	}
	// The first step of a ramp already checks the space for its last step.
	ramp := jobSteps(t, func(b *builders.BenchmarkBuilder) *builders.BenchmarkBuilder {
		return b.Ramp("ramp", v1alpha1.RampClients, "30s", 1, 3)
	})
	requests, err = c.Requests(ramp[0], 1, keys[:1], 1, everywhere)
	must(t, err)
	if got := requests(clientKey(0)).GetDataset(); got.GetNewBytes() != 96<<20 || got.GetSharing() != 0 {
		t.Errorf("the first step of a ramp asks for %d bytes for each of %d clients", got.GetNewBytes(), got.GetSharing())
	}
	if all := c.Environments(); len(all) != 1 || all[0].Engine != v1alpha1.EngineIOR || !strings.Contains(all[0].ToolVersion, "ior 4.0.0, Open MPI 4.1.4") {
		t.Errorf("environments %+v", all)
	}

	old, _ := connect("3.3.0", "3.3.0", "3.3.0")
	random := jobStep(t, func(b *builders.BenchmarkBuilder) *builders.BenchmarkBuilder {
		return b.Steady("write", "30s").WithLoad(builders.IOR().Mutate(func(p *v1alpha1.IORProfile) { p.DataPattern = "Random" }).Engine())
	})
	_, err = old.Requests(random, 1, keys, 1, everywhere)
	var invalid *decide.Failure
	if !errors.As(err, &invalid) || invalid.Reason != v1alpha1.ReasonInvalidWorkload || !strings.Contains(invalid.Message, "use Incompressible with this version") {
		t.Errorf("a pattern that the version does not have: %v", err)
	}

	mixed, _ := connect("4.0.0", "4.0.0", "3.3.0")
	_, err = mixed.Requests(step, 1, keys, 1, everywhere)
	var failure *decide.Failure
	if !errors.As(err, &failure) || failure.Reason != "ToolVersionsDiffer" || !strings.Contains(failure.Message, "different versions of ior: 4.0.0 (for example target/0) and 3.3.0 (for example target/2)") {
		t.Errorf("two versions: %v", err)
	}
	// An agent that was too busy to report its version does not count as different.
	silent, _ := connect("4.0.0", "", "4.0.0")
	if _, err = silent.Requests(step, 1, keys, 1, everywhere); err != nil {
		t.Errorf("an agent that does not report its version: %v", err)
	}
}

// TestToolsThatAreNeeded checks that a client is unfit if its agent does not report a needed tool, or reports a problem
// with it.
func TestToolsThatAreNeeded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tools []*agentapi.Tool
		words string
	}{
		"not told of": {[]*agentapi.Tool{{Name: "mpirun"}}, "ior: not in the client's image"},
		"not there":   {[]*agentapi.Tool{{Name: "ior"}, {Name: "mpirun", Problem: "it is not in the PATH"}}, "mpirun: it is not in the PATH"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := conductor.New(conductor.Options{RunUID: runUID, Epoch: 1, LossTimeout: time.Minute, Tools: func(string) []string { return []string{"ior", "mpirun"} }})
			t.Cleanup(c.Close)
			described := good()
			described.Tools = test.tools
			c.Connect(endpoint(t, 0, serve(t, 0, &fake{describe: described})))
			if facts := await(t, c, 0, "unfit", is(decide.Unfit)); facts.Reason != "ToolMissing" || !strings.Contains(facts.Message, test.words) {
				t.Errorf("got %s: %q", facts.Reason, facts.Message)
			}
		})
	}
}

// jobEnded returns the end record of client 0 in an MPI job.
func jobEnded(change func(*agentapi.MpiResult)) []*agentapi.Record {
	job := &agentapi.MpiResult{CommandLine: []string{"ior", "-w\x1b[31m"}, Ranks: 4, Clients: 2, MpiVersion: "4.1.4",
		Repetitions: []*agentapi.Repetition{{Operation: uint32(measure.Write), Bytes: 1 << 30, BytesExact: true, BytesPerSecond: 1e9, OperationsPerSecond: 1000,
			OpenNanoseconds: 1, TransferNanoseconds: -1, CloseNanoseconds: 2, TotalNanoseconds: 1e9, EndedNanoseconds: 2e9}},
		Rates: []*agentapi.MdtestRate{{Operation: "File creation", MaxOperationsPerSecond: 3, MinOperationsPerSecond: 1, MeanOperationsPerSecond: 2}},
	}
	change(job)
	return sequence(ended(func(e *agentapi.Ended) { e.Mpi = job }))
}

func TestJobResults(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change      func(*agentapi.MpiResult)
		implausible string
	}{
		"good":             {change: func(*agentapi.MpiResult) {}},
		"no rate":          {func(m *agentapi.MpiResult) { m.Repetitions[0].BytesPerSecond = math.NaN() }, "its rate, duration or index is out of range"},
		"endless":          {func(m *agentapi.MpiResult) { m.Repetitions[0].BytesPerSecond = math.Inf(1) }, "its rate, duration or index is out of range"},
		"no time":          {func(m *agentapi.MpiResult) { m.Repetitions[0].TotalNanoseconds = 0 }, "its rate, duration or index is out of range"},
		"unknown":          {func(m *agentapi.MpiResult) { m.Repetitions[0].Operation = 99 }, "operation 99"},
		"too late":         {func(m *agentapi.MpiResult) { m.Repetitions[0].EndedNanoseconds = math.MaxInt64 }, "is out of range"},
		"more than ranks":  {func(m *agentapi.MpiResult) { m.Clients = 5 }, "4 ranks in 5 clients"},
		"negative rate":    {func(m *agentapi.MpiResult) { m.Rates[0].MeanOperationsPerSecond = -1 }, "with -1 operations/s"},
		"nameless":         {func(m *agentapi.MpiResult) { m.Rates[0].Operation = "" }, "invalid result"},
		"a flood of rates": {func(m *agentapi.MpiResult) { m.Rates = slices.Repeat(m.Rates, 100) }, "rates (100)"},
		"a flood of words": {func(m *agentapi.MpiResult) { m.CommandLine = make([]string, 10_000) }, "command-line arguments (10000)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := conduct(t, 1, time.Hour)
			c.Connect(endpoint(t, 0, serve(t, 0, &fake{describe: good(), watch: sends(jobEnded(test.change))})))
			await(t, c, 0, "ended", has(first, decide.Ended))
			got := clientAttempt(t, c, first, 0)
			if test.implausible != "" {
				if got.Failure != "BadResult" || !strings.Contains(got.FailureMessage, test.implausible) || got.Job != nil {
					t.Errorf("failure %s: %s, job %+v", got.Failure, got.FailureMessage, got.Job)
				}
				return
			}
			if got.Job == nil || got.Job.CommandLine[1] != "-w[31m" || got.Job.Repetitions[0].Bytes != 1<<30 || got.Job.Repetitions[0].Transfer >= 0 ||
				got.Job.Repetitions[0].Ended.IsZero() || got.Job.Rates[0].Mean != 2 {
				t.Errorf("job %+v, failure %s", got.Job, got.FailureMessage)
			}
		})
	}
}
