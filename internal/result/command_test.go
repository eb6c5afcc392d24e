package result_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine"
	"github.com/storagebench/storagebench/internal/engine/command"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/test/builders"
)

// commandStep returns a step that runs a command on two clients.
func commandStep(t *testing.T) plan.Step {
	t.Helper()
	made, problems := plan.Make(builders.Benchmark("b").Target("data").Clients(2).
		Load(v1alpha1.Engine{Command: &v1alpha1.CommandProfile{Command: []string{"zip", "a.zip"}}}).Steady("zip", "1h").Run(), 1)
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	return made.Steps[0]
}

const mb = 1_000_000

// ranProgram returns a client whose program read 100 MB and wrote 50 MB in ten seconds according to its system calls.
// more contains the counts of other sources.
func ranProgram(index int, machine string, more ...command.Count) result.Client {
	start := time.Unix(1000, 0)
	calls := command.Count{Source: v1alpha1.SourceCalls, ReadBytes: 100 * mb, WriteBytes: 50 * mb, HasOperations: true, ReadOperations: 1000, WriteOperations: 500}
	client := result.Client{
		Target: "data", Index: index, Released: start, IOStart: start, IOEnd: start.Add(10 * time.Second), Ended: true, Machine: machine,
		Command: &engine.Program{CommandLine: []string{"zip", "a.zip"}, Duration: 9 * time.Second, Flush: time.Second, Counts: append(more, calls)},
	}
	var samples []measure.Sample
	for i := range int64(10) {
		sample := measure.Sample{StartNanoseconds: start.UnixNano() + i*1e9, EndNanoseconds: start.UnixNano() + (i+1)*1e9}
		sample.Counters[measure.Read] = measure.Counter{Bytes: 10 * mb, Operations: 100}
		sample.Counters[measure.Write] = measure.Counter{Bytes: 5 * mb, Operations: 50}
		samples = append(samples, sample)
	}
	client.Samples = slices.Values(samples)
	client.Operations[measure.Read].Counter = measure.Counter{Bytes: 100 * mb, Operations: 1000}
	client.Operations[measure.Write].Counter = measure.Counter{Bytes: 50 * mb, Operations: 500}
	return client
}

func countsOf(source v1alpha1.CommandSource, read, write uint64) command.Count {
	return command.Count{Source: source, ReadBytes: read * mb, WriteBytes: write * mb}
}

func TestCommandSources(t *testing.T) {
	t.Parallel()
	step := commandStep(t)
	for name, test := range map[string]struct {
		clients []result.Client
		source  v1alpha1.CommandSource
		read    int64 // bytes per second of both clients
		apart   int64 // -1 if there is nothing to compare with
		warns   string
	}{
		"calls alone": {[]result.Client{ranProgram(0, "a"), ranProgram(1, "b")}, v1alpha1.SourceCalls, 20 * mb, -1, ""},
		"storage agrees": {[]result.Client{ranProgram(0, "a", countsOf(v1alpha1.SourceStorage, 98, 50)), ranProgram(1, "b", countsOf(v1alpha1.SourceStorage, 99, 51))},
			v1alpha1.SourceStorage, 19_700_000, 20, ""},
		"all from the cache": {[]result.Client{ranProgram(0, "a", countsOf(v1alpha1.SourceStorage, 0, 50)), ranProgram(1, "b", countsOf(v1alpha1.SourceStorage, 100, 50))},
			v1alpha1.SourceStorage, 10 * mb, 1000, "client 0: read 0 B according to the kernel's I/O accounting of the program, but 100.0 MB according to the program's system calls"},
		"mapped files": {[]result.Client{ranProgram(0, "a", countsOf(v1alpha1.SourceStorage, 400, 50)), ranProgram(1, "b", countsOf(v1alpha1.SourceStorage, 100, 50))},
			v1alpha1.SourceStorage, 50 * mb, 750, "the program may use mmap"},
		"the mount": {[]result.Client{ranProgram(0, "a", countsOf(v1alpha1.SourceMount, 101, 50)), ranProgram(1, "b", countsOf(v1alpha1.SourceMount, 101, 50))},
			v1alpha1.SourceMount, 20_200_000, 10, ""},
		"the mount of a machine with two clients": {[]result.Client{ranProgram(0, "a", countsOf(v1alpha1.SourceMount, 200, 100)), ranProgram(1, "a", countsOf(v1alpha1.SourceMount, 200, 100))},
			v1alpha1.SourceCalls, 20 * mb, -1, ""},
		"a source of one client alone": {[]result.Client{ranProgram(0, "a", countsOf(v1alpha1.SourceStorage, 100, 50)), ranProgram(1, "b")},
			v1alpha1.SourceCalls, 20 * mb, -1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made := result.Target(step, "data", test.clients, result.History{})
			ran := made.Command
			if ran == nil || ran.Source != test.source || !made.WorkBound || ran.DurationNanoseconds != 9e9 || ran.FlushNanoseconds != 1e9 {
				t.Fatalf("%+v", ran)
			}
			if len(made.Operations) != 2 || *made.Operations[0].BytesPerSecond != test.read {
				t.Errorf("%d bytes/s, want %d: %+v", *made.Operations[0].BytesPerSecond, test.read, made.Operations)
			}
			if (ran.DisagreementPermille == nil) != (test.apart < 0) || ran.DisagreementPermille != nil && *ran.DisagreementPermille != test.apart {
				t.Errorf("they differ by %v, want %d", ran.DisagreementPermille, test.apart)
			}
			said := ""
			for _, warning := range made.Warnings {
				if warning.Type == v1alpha1.WarningBytesUncertain {
					said = warning.Message
				}
			}
			if (said == "") != (test.warns == "") || !strings.Contains(said, test.warns) {
				t.Errorf("it warns %q, want %q", said, test.warns)
			}
			if ran.Sources[len(ran.Sources)-1].ReadBytes != 200*mb {
				t.Errorf("sources %+v", ran.Sources)
			}
			// A source that covers only one client, or counts each client twice, is not listed.
			if listed := ran.Sources[0]; listed.Source != test.source || listed.ReadBytes != 10*test.read {
				t.Errorf("sources %+v, want %s first with %d bytes", ran.Sources, test.source, 10*test.read)
			}
		})
	}
}

// TestCommandBesideAnotherTarget checks that the statistics of a mount are not used if a client of another target ran
// on the same machine, because it may use the same mount.
func TestCommandBesideAnotherTarget(t *testing.T) {
	t.Parallel()
	client := ranProgram(0, "a", countsOf(v1alpha1.SourceMount, 200, 100), countsOf(v1alpha1.SourceStorage, 100, 50))
	for want, remarks := range map[v1alpha1.CommandSource][]result.Remark{
		v1alpha1.SourceMount:   nil,
		v1alpha1.SourceStorage: {{Warning: v1alpha1.WarningSharedClientNode, Client: 0, Message: "shared a machine"}},
	} {
		made := result.Target(commandStep(t), "data", []result.Client{client}, result.History{}, remarks...)
		if made.Command == nil || made.Command.Source != want {
			t.Errorf("remarks %+v: %+v, want %s", remarks, made.Command, want)
		}
	}
}

// TestCommandThatMapsItsOutput checks that the result includes bytes that only the kernel's I/O accounting counts,
// because the program maps its files and makes no system calls for them.
func TestCommandThatMapsItsOutput(t *testing.T) {
	t.Parallel()
	figures := func(operation v1alpha1.Operation, bytes, operations int64) v1alpha1.OperationResult {
		made := v1alpha1.OperationResult{Operation: operation, Bytes: bytes, Operations: operations,
			BytesPerSecond: pointerTo(bytes / 10)}
		if operations > 0 {
			made.IOPSMilli = pointerTo(operations * 100)
		}
		return made
	}
	for name, test := range map[string]struct {
		mapped []measure.Operation
		want   []v1alpha1.OperationResult
	}{
		"its output": {[]measure.Operation{measure.Write}, []v1alpha1.OperationResult{
			figures(v1alpha1.OperationRead, 200*mb, 2000), figures(v1alpha1.OperationWrite, 100*mb, 0)}},
		"all its files": {[]measure.Operation{measure.Read, measure.Write}, []v1alpha1.OperationResult{
			figures(v1alpha1.OperationRead, 200*mb, 0), figures(v1alpha1.OperationWrite, 100*mb, 0)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storage := countsOf(v1alpha1.SourceStorage, 100, 50)
			clients := []result.Client{ranProgram(0, "a", storage), ranProgram(1, "b", storage)}
			for i := range clients {
				client, calls := &clients[i], &clients[i].Command.Counts[1]
				for _, operation := range test.mapped {
					client.Operations[operation] = result.Operation{}
					if operation == measure.Read {
						calls.ReadBytes, calls.ReadOperations = 0, 0
					} else {
						calls.WriteBytes, calls.WriteOperations = 0, 0
					}
					builders.MutateSamples(client, func(samples []measure.Sample) []measure.Sample {
						for j := range samples {
							samples[j].Counters[operation] = measure.Counter{}
						}
						return samples
					})
				}
			}
			made := result.Target(commandStep(t), "data", clients, result.History{})
			if diff := cmp.Diff(test.want, made.Operations); diff != "" {
				t.Errorf("operations (-want +got):\n%s", diff)
			}
			wanted(t, made.Warnings, []v1alpha1.WarningType{v1alpha1.WarningBytesUncertain})
		})
	}
}

// TestCommandThatFailed checks that a failed client contributes its exit code, but no figures.
func TestCommandThatFailed(t *testing.T) {
	t.Parallel()
	failed := ranProgram(1, "b")
	failed.Failure, failed.FailureMessage, failed.Command.ExitCode = "CommandFailed", "zip ended with exit code 12", 12
	made := result.Target(commandStep(t), "data", []result.Client{ranProgram(0, "a"), failed}, result.History{})
	if made.Command == nil || made.Command.ExitCode != 12 || made.Clients != 1 || made.Operations[0].Bytes != 100*mb {
		t.Errorf("%+v, %+v", made.Command, made.Operations)
	}
	made = result.Target(commandStep(t), "data", []result.Client{failed}, result.History{})
	if made.Command == nil || made.Command.ExitCode != 12 || len(made.Operations) != 0 {
		t.Errorf("%+v, %+v", made.Command, made.Operations)
	}
}

// TestExitCodes checks that the result shows the exit code of a client that failed, whichever clients succeeded.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	for want, codes := range map[int32][]int{0: {0, 0}, 12: {0, 12}, 1: {1, 0}, 3: {3, 4}} {
		var clients []result.Client
		for i, code := range codes {
			client := ranProgram(i, "a")
			client.Command.ExitCode = code
			clients = append(clients, client)
		}
		if made := result.Target(commandStep(t), "data", clients, result.History{}); made.Command.ExitCode != want {
			t.Errorf("%v: exit code %d, want %d", codes, made.Command.ExitCode, want)
		}
	}
}

// TestSetupWithoutOperations checks that a command's setup may do no I/O, for example only create a directory. An fio
// layout without I/O gets a warning.
func TestSetupWithoutOperations(t *testing.T) {
	zips := v1alpha1.Engine{Command: &v1alpha1.CommandProfile{Command: []string{"zip", "a.zip"}, Setup: []string{"mkdir", "a"}}}
	for name, test := range map[string]struct {
		benchmark *builders.BenchmarkBuilder
		warns     bool
	}{
		"a prepare phase":    {builders.Benchmark("b").Target("data").Load(zips).Prepare("layout").Steady("zip", "1h"), false},
		"before its command": {builders.Benchmark("b").Target("data").Load(zips).Steady("zip", "1h"), false},
		"a layout":           {layingOut(), true},
	} {
		made, problems := plan.Make(test.benchmark.Run(), 1)
		if len(problems) > 0 {
			t.Fatal(problems.ToAggregate())
		}
		if made.Steps[0].Purpose != plan.Prepare {
			t.Fatalf("%s: the first step is a %s", name, made.Steps[0].Purpose)
		}
		for _, client := range []*builders.ClientBuilder{
			builders.Client("data", 0),
			builders.Client("data", 0).Sample(time.Second, measure.Write, measure.Counter{}, 0),
		} {
			target := result.Target(made.Steps[0], "data", objects(client), result.History{})
			isIt := func(w v1alpha1.Warning) bool { return w.Type == v1alpha1.WarningNoOperations }
			if slices.ContainsFunc(target.Warnings, isIt) != test.warns {
				t.Errorf("%s: %+v", name, target.Warnings)
			}
		}
	}
}
