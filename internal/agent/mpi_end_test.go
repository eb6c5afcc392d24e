package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/identity"
	"github.com/storagebench/storagebench/internal/measure"
)

// endless holds the arguments of a job of small repetitions that runs for minutes.
var endless = []string{"-a", "POSIX", "-t", "64k", "-b", "1m", "-F", "-w", "-i", "100000", "-o", "data", "-O", "summaryFormat=CSV"}

func limited(tool *agentapi.MpiTool) {
	tool.Operations, tool.Limited = []uint32{uint32(measure.Write)}, true
}

// sampling waits until a client has a sample of the latest step.
func (j *job) sampling(client int) {
	j.t.Helper()
	j.sample(client, func(*agentapi.Sample) bool { return true })
}

// sample waits until a client has a wanted sample of the latest step.
func (j *job) sample(client int, wanted func(*agentapi.Sample) bool) {
	j.t.Helper()
	r := j.clients[client]
	eventually(j.t, fmt.Sprintf("client %d has no such samples", client), func() bool {
		records := rest(j.t, r.agent.log.After(0))
		return slices.ContainsFunc(records, func(record *agentapi.Record) bool {
			return record.GetStep().GetId() == j.begun && record.GetSample() != nil && wanted(record.GetSample())
		})
	})
}

func (j *job) stop(reason string) {
	j.t.Helper()
	for _, r := range j.clients {
		_, err := r.Stop(j.t.Context(), &agentapi.StopRequest{Epoch: 1, Reason: reason})
		must(j.t, err)
	}
}

// TestMPIStopsLeaveNothing checks that a stop at any moment leaves no mpirun, daemon or rank on any client, and that
// the repetitions that were printed before it count.
func TestMPIStopsLeaveNothing(t *testing.T) {
	t.Parallel()
	j := newJob(t, 3, 1)
	j.stopsLeaveNothing("on their way", func() {})
	j.stopsLeaveNothing("with daemons", func() {
		eventually(t, "no daemon runs", func() bool { return len(mpiProcesses(t, j.directory)) > 1 })
	})
	ended := j.stopsLeaveNothing("with ranks", func() { j.sampling(2); j.printed() })
	if len(ended.GetMpi().GetRepetitions()) == 0 {
		t.Error("no repetition is kept")
	}
}

// stopsLeaveNothing starts a step, stops it when moment returns, and returns the result of client 0.
func (j *job) stopsLeaveNothing(id string, moment func()) *agentapi.Ended {
	j.t.Helper()
	j.begin(id, noLimit, limited, "ior", endless...)
	moment()
	j.stop("enough")
	ended, _ := j.end(id)
	// Check at once, before processes can exit on their own.
	if left := mpiProcesses(j.t, j.directory); len(left) > 0 {
		j.t.Fatalf("%s: left %v", id, left)
	}
	for client, one := range ended {
		// Client 0 is stopped first: the others may notice that it disconnects before they are stopped.
		if client > 0 && one.GetReason() == agentapi.ReasonClientLost && one.GetMessage() == "client 0 disconnected" {
			continue
		}
		// A client may be stopped before its start.
		if one.GetOutcome() != agentapi.Outcome_OUTCOME_STOPPED || one.GetReason() != tool.ReasonStopped || !strings.HasSuffix(one.GetMessage(), "enough") {
			j.t.Fatalf("%s, client %d: %v", id, client, one)
		}
	}
	return ended[0]
}

// printed waits until IOR has printed a repetition.
func (j *job) printed() {
	j.t.Helper()
	first := j.clients[0].agent
	eventually(j.t, "IOR has printed no repetition", func() bool {
		first.mu.Lock()
		defer first.mu.Unlock()
		launcher, ok := first.live.load.(interface{ Repetitions() int })
		return ok && launcher.Repetitions() > 0
	})
}

// TestMPILostClient checks that the loss of a client ends the job at once, with a message that names the client.
func TestMPILostClient(t *testing.T) {
	t.Parallel()
	j := newJob(t, 2, 2)
	lost := spawn(t, func(config *Config) {
		*config = clientConfiguration(t, j.directory, 2, clientAddress(2))
	}, "env", "PATH="+j.clients[0].agent.env.Path)
	j.addresses = append(j.addresses, lost.address)
	j.clients = append(j.clients, lost.rigAs(2))
	j.begin("a", noLimit, limited, "ior", endless...)
	j.sampling(0)
	j.sampling(1)
	must(t, lost.command.Process.Kill())
	j.clients = j.clients[:2]
	ended, _ := j.end("a")
	if ended[0].GetReason() != agentapi.ReasonClientLost || !strings.HasPrefix(ended[0].GetMessage(), "client 2 was lost: ") {
		t.Errorf("client 0: %v", ended[0])
	}
	t.Logf("%d repetitions are kept", len(ended[0].GetMpi().GetRepetitions()))
	// The processes of a killed agent die with its container in a cluster; here, the test must kill them.
	for _, left := range mpiProcesses(t, j.directory) {
		pid, _, _ := strings.Cut(left, " ")
		killByID(t, pid)
	}
	j.nothingLeftOf()
}

// TestMPILostLauncher checks that the daemon and all its descendants end when the launcher disconnects, and that the
// member's part of the job ends too.
func TestMPILostLauncher(t *testing.T) {
	t.Parallel()
	j := idleJob(t, 2, 1)
	j.shared = false
	member := j.clients[1]
	// While the launcher is connected, the member would wait this long for Release.
	member.agent.env.Timeouts.Release = time.Hour
	programs := t.TempDir()
	for name, script := range map[string]string{"ior": "", "orted": "echo out; echo err >&2; setsid sleep 1000 & sleep 1000\n"} {
		must(t, os.WriteFile(filepath.Join(programs, name), []byte("#!/bin/sh\n"+script), 0o700))
	}
	member.agent.env.Path = programs + ":" + os.Getenv("PATH")
	member.load(j.request(1, "a", "ior"))
	member.start("a", noLimit)
	bundle, err := authority().Client("target", 0)
	must(t, err)
	launcher := agentapi.NewAgentClient(dialAs(t, bundle, identity.ClientOf(runUID, "target", 1), j.addresses[1]))
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	stream, err := launcher.Launch(ctx, &agentapi.LaunchRequest{Step: key("a"), Command: daemonOf("127.0.0.1")})
	must(t, err)
	var said string
	for len(said) < len("out\nerr\n") {
		output, err := stream.Recv()
		must(t, err)
		said += string(output.GetStdout()) + string(output.GetStderr())
	}
	eventually(t, "the daemon does not start its processes", func() bool { return len(mpiProcesses(t, j.directory)) == 3 })
	hangUp()
	ended, _ := member.finished("a")
	if ended.GetOutcome() != agentapi.Outcome_OUTCOME_FAILED || ended.GetReason() != agentapi.ReasonClientLost {
		t.Errorf("got %v", ended)
	}
	if left := mpiProcesses(t, j.directory); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestMPIFailuresAreTold(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		program   string
		arguments []string
		change    func(*agentapi.MpiTool)
		reason    string
		words     string
	}{
		"bad option":     {"ior", []string{"-a", "POSIX", "--nonsense", "-o", "data"}, nil, "BadOption", "IOR: "},
		"no such folder": {"ior", []string{"-a", "POSIX", "-w", "-t", "64k", "-b", "64k", "-o", "no/such/data"}, nil, "NoSuchFile", "IOR: "},
		"fewer than told": {"ior", []string{"-a", "POSIX", "-w", "-t", "64k", "-b", "64k", "-o", "data", "-O", "summaryFormat=CSV"}, func(tool *agentapi.MpiTool) {
			tool.Operations, tool.Repetitions = []uint32{uint32(measure.Write)}, 2
		}, "Truncated", "1 of 2 repetitions"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, 2, 1)
			j.begin("a", noLimit, test.change, test.program, test.arguments...)
			ended, _ := j.end("a")
			j.nothingLeftOf()
			if ended[0].GetOutcome() != agentapi.Outcome_OUTCOME_FAILED || ended[0].GetReason() != test.reason || !strings.Contains(ended[0].GetMessage(), test.words) {
				t.Errorf("client 0: %v", ended[0])
			}
		})
	}
}

// TestMPIDeadline checks that a job with a fixed amount of work fails when it exceeds its deadline.
func TestMPIDeadline(t *testing.T) {
	t.Parallel()
	j := newJob(t, 2, 1)
	j.begin("a", time.Second, limited, "ior", endless...)
	ended, _ := j.end("a")
	j.nothingLeftOf()
	for client, one := range ended {
		if one.GetOutcome() != agentapi.Outcome_OUTCOME_FAILED || one.GetReason() != tool.ReasonDeadline {
			t.Errorf("client %d: %v", client, one)
		}
	}
}

// TestMPIDeadlineAfterDuration checks that a job that exceeds its deadline is complete on each client that was measured
// for the whole duration, and counts as stopped on the others. The deadline grows until all are complete: on a busy
// machine, mpirun may need most of the time to start the ranks.
func TestMPIDeadlineAfterDuration(t *testing.T) {
	t.Parallel()
	for limit, complete := 5*time.Second, false; !complete && !t.Failed(); limit *= 3 {
		t.Run(limit.String(), func(t *testing.T) {
			j := newJob(t, 2, 1)
			j.begin("a", limit, func(tool *agentapi.MpiTool) {
				limited(tool)
				tool.DurationNanoseconds = int64(500 * time.Millisecond)
			}, "ior", endless...)
			ended, _ := j.end("a")
			j.nothingLeftOf()
			complete = true
			for client, one := range ended {
				reason, message := "", ""
				if one.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
					complete, reason, message = false, tool.ReasonStopped, "the step's deadline passed"
				}
				if one.GetOutcome() == agentapi.Outcome_OUTCOME_FAILED || one.GetReason() != reason || one.GetMessage() != message {
					t.Errorf("client %d: %v", client, one)
				}
			}
		})
	}
}

// TestMPIFinishWhileRunning checks that agents that exit end their parts of a job, in any order.
func TestMPIFinishWhileRunning(t *testing.T) {
	t.Parallel()
	for _, first := range []int{0, 1} {
		t.Run(fmt.Sprint("client ", first), func(t *testing.T) {
			t.Parallel()
			j := newJob(t, 2, 1)
			j.begin("a", noLimit, limited, "ior", endless...)
			j.sampling(1)
			for _, client := range []int{first, 1 - first} {
				answer, err := j.clients[client].Finish(t.Context(), &agentapi.FinishRequest{Epoch: 1, RemoveData: true})
				if err != nil || answer.GetProblem() != "" {
					t.Errorf("client %d: %v, %v", client, answer, err)
				}
			}
			if left := mpiProcesses(t, j.directory); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			if _, err := os.Stat(filepath.Join(j.directory, dataPath)); err == nil {
				t.Error("its data is there")
			}
		})
	}
}

// TestMPILoadRefuses checks that invalid steps are refused and leave nothing behind. It does not run in parallel with
// other tests, because it looks for leftovers in a folder for temporary files of its own.
func TestMPILoadRefuses(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	j := idleJob(t, 2, 1)
	for client, r := range j.clients {
		load := j.request(client, "a", "sh", "-c", "true")
		if _, err := r.Load(t.Context(), load); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), `the step's program is "sh"`) {
			t.Errorf("client %d: %v", client, err)
		}
		load = j.request(client, "a", "ior")
		load.GetMpi().Clients = nil
		if _, err := r.Load(t.Context(), load); status.Code(err) != codes.InvalidArgument {
			t.Errorf("client %d: %v", client, err)
		}
		path := r.agent.env.Path
		r.agent.env.Path = t.TempDir()
		r.refused(j.request(client, "a", "ior"), tool.ReasonTool, "ior is not in this image or on this machine", "use an image with Open MPI and IOR")
		must(t, os.WriteFile(filepath.Join(r.agent.env.Path, "ior"), nil, 0o700))
		r.refused(j.request(client, "a", "ior"), tool.ReasonTool, map[int]string{0: "mpirun is not in this image", 1: "the daemon of Open MPI, orted or prted"}[client])
		r.agent.env.Path = path
	}
	space := j.request(0, "a", "ior")
	space.Dataset.NewBytes = 1 << 60
	j.clients[0].refused(space, tool.ReasonNoSpace)
	reads := j.request(0, "a", "ior")
	reads.Dataset.Reads = []*agentapi.DataFile{{Name: "data", Bytes: 1}}
	j.clients[0].refused(reads, tool.ReasonNotPrepared, "no phase has laid out")
	if scratch, err := filepath.Glob(filepath.Join(os.TempDir(), "storagebench-mpi-"+"*")); err != nil || len(scratch) > 0 {
		t.Errorf("scratch directories stay: %v, %v", scratch, err)
	}
}
