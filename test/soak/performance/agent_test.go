package performance_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/agent"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/conductor"
	"github.com/storagebench/storagebench/internal/dataset"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/identity"
	"github.com/storagebench/storagebench/internal/local"
	"github.com/storagebench/storagebench/internal/result"
)

// bench runs a load with a live agent or with bare fio. Bare fio uses the agent's folder and files, because the memory
// pages of a file on tmpfs change its speed by some percent for as long as the file exists.
type bench struct {
	load        load
	job, folder string
	agent       *local.Agent
	pid         int
	conductor   *conductor.Conductor
	runs        int
}

var client = decide.ClientKey{Target: "overhead", Index: 0}

const runUID = "overhead"

// newBench starts an agent on a folder in tmpfs and lets it create the files. The agent ends with the test.
func newBench(t *testing.T, l load) *bench {
	t.Helper()
	directory, err := os.MkdirTemp("/dev/shm", "storagebench-overhead-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	location := dataset.Location{BenchmarkUID: runUID, DatasetHash: "data", Client: client.Index}
	b := &bench{load: l, folder: filepath.Join(directory, location.Path()),
		job: fmt.Sprintf("[global]\nioengine=%s\nrw=%s\nbs=4k\nsize=%s\ntime_based=1\nruntime=%dms\ncpus_allowed=%d\nclocksource=cpu\n"+
			"randseed=1\ngroup_reporting=1\nlat_percentiles=1\nfilename_format=data.$jobnum.$filenum\n[job]\n", l.engine, l.pattern, size, runtime.Milliseconds(), cpu)}

	master, err := identity.NewMaster()
	must(t, err)
	authority, err := identity.ForRun(master, runUID, identity.ValidityOf(time.Now(), 24*time.Hour, time.Hour))
	must(t, err)
	bundle, err := authority.Client(client.Target, client.Index)
	must(t, err)
	program, err := filepath.Abs("../../../bin/kubectl-storagebench")
	must(t, err)
	b.agent, err = local.StartAgent([]string{program, "agent"}, agent.Config{
		RunUID: runUID, RunName: runUID, Target: client.Target, Listen: "127.0.0.1:0", Identity: bundle,
		Volumes:   []agent.VolumeConfig{{Name: "data", Path: directory}},
		Benchmark: runUID, BenchmarkUID: runUID, DatasetHash: "data", OrphanTimeout: time.Hour,
	})
	must(t, err)
	b.pid, err = childWith("agent")
	must(t, err)
	b.conductor = conductor.New(conductor.Options{RunUID: runUID, Epoch: 1, LossTimeout: time.Minute})
	endpoint, err := b.agent.Endpoint(client, runUID, authority)
	must(t, err)
	b.agent.Follow(b.conductor.Connect(endpoint))
	t.Cleanup(b.close)
	_, err = b.throughAgent(t.Context())
	must(t, err)
	return b
}

func (b *bench) close() {
	b.conductor.Finish([]decide.ClientKey{client}, conductor.FinishOptions{RemoveData: true}, func(decide.ClientKey, *agentapi.FinishResponse) {})
	select {
	case <-b.agent.Exited():
	case <-time.After(time.Minute):
		b.agent.Leave()
	}
	b.conductor.Close()
}

// throughAgent runs the job as a step, with a live sample per second.
func (b *bench) throughAgent(ctx context.Context) (outcome, error) {
	b.runs++
	attempt := decide.Attempt{Step: fmt.Sprintf("run-%d", b.runs), Number: 1}
	if err := b.until(ctx, func(c decide.Client) bool { return c.Connection == decide.Ready }); err != nil {
		return outcome{}, err
	}
	before, _, err := usage(b.pid)
	if err != nil {
		return outcome{}, err
	}
	keys := []decide.ClientKey{client}
	b.conductor.Load(attempt, keys, func(decide.ClientKey) *agentapi.LoadRequest {
		return &agentapi.LoadRequest{Dataset: &agentapi.Dataset{}, Tool: &agentapi.LoadRequest_Fio{Fio: &agentapi.FioTool{
			Job: b.job, Jobs: 1, DurationNanoseconds: int64(runtime), SampleIntervalNanoseconds: int64(result.SampleInterval)}}}
	})
	reached := func(progress ...decide.Progress) func(decide.Client) bool {
		return func(c decide.Client) bool {
			for _, p := range progress {
				if c.Attempts[attempt].Progress == p {
					return true
				}
			}
			return false
		}
	}
	if err := b.until(ctx, reached(decide.Loaded, decide.Refused)); err != nil {
		return outcome{}, err
	}
	start := b.conductor.Reference.Now().Add(50 * time.Millisecond)
	b.conductor.Start(attempt, keys, start, start.Add(time.Minute))
	if err := b.until(ctx, reached(decide.Ended, decide.Refused)); err != nil {
		return outcome{}, err
	}
	defer b.conductor.Forget(attempt)
	results := b.conductor.Results(attempt)
	if len(results) != 1 {
		return outcome{}, fmt.Errorf("through the agent: %d results of one client", len(results))
	}
	if results[0].Failure != "" {
		return outcome{}, fmt.Errorf("through the agent: %s: %s", results[0].Failure, results[0].FailureMessage)
	}
	after, memory, err := usage(b.pid)
	if err != nil {
		return outcome{}, err
	}
	total := results[0].Operations[b.load.operation]
	p99, ok := total.Completion.Histogram.Percentile(99)
	if !ok {
		return outcome{}, fmt.Errorf("through the agent: no 99th percentile of %d operations", total.Operations)
	}
	return outcome{operations: total.Operations, p99: time.Duration(p99), cpu: after - before, memory: memory}, nil
}

// until waits until wanted returns true for the client.
func (b *bench) until(ctx context.Context, wanted func(decide.Client) bool) error {
	for {
		for _, c := range b.conductor.Clients() {
			if wanted(c) {
				return nil
			}
			if c.Connection == decide.Lost || c.Connection == decide.Unfit {
				return fmt.Errorf("the agent is %s: %s", c.Connection, c.Message)
			}
		}
		select {
		case <-b.conductor.Changed():
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
