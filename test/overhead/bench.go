package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/storagebench/storagebench/internal/agent"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/conductor"
	"github.com/storagebench/storagebench/internal/dataset"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/engine/fio"
	"github.com/storagebench/storagebench/internal/identity"
	"github.com/storagebench/storagebench/internal/local"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/result"
)

// bench is one load with a live agent and a directory for each side.
type bench struct {
	options   options
	load      load
	job       string
	directory string
	bareDir   string
	agent     *local.Agent
	conductor *conductor.Conductor
	runs      int
}

var client = decide.ClientKey{Target: "overhead", Index: 0}

const runUID = "overhead"

func newBench(o options, l load) (*bench, error) {
	directory, err := os.MkdirTemp(o.tmpfs, "storagebench-overhead-")
	if err != nil {
		return nil, err
	}
	// Both sides work on the very same files: which pages of memory a file of tmpfs has makes a
	// difference of some percent, for as long as it has them.
	location := dataset.Location{BenchmarkUID: runUID, DatasetHash: "data", Client: client.Index}
	bareDir := filepath.Join(directory, location.Path())
	// Both sides are given the very same job. The clock is named, because fio chooses between two at its
	// start, by a race between its CPUs, and is 25 % slower with one of them here.
	job := fmt.Sprintf("[global]\nioengine=%s\nrw=randwrite\nbs=4k\nsize=%s\ntime_based=1\nruntime=%dms\ncpus_allowed=%d\nclocksource=cpu\n"+
		"randseed=1\ngroup_reporting=1\nlat_percentiles=1\nfilename_format=data.$jobnum.$filenum\n[job]\n", l.engine, o.size, o.runtime.Milliseconds(), o.cpu)
	b := &bench{options: o, load: l, job: job, directory: directory, bareDir: bareDir}
	return b, b.connect()
}

func (b *bench) connect() error {
	master, err := identity.NewMaster()
	if err != nil {
		return err
	}
	authority, err := identity.ForRun(master, runUID, identity.ValidityOf(time.Now(), 24*time.Hour, time.Hour))
	if err != nil {
		return err
	}
	bundle, err := authority.Client(client.Target, client.Index)
	if err != nil {
		return err
	}
	b.agent, err = local.StartAgent([]string{b.options.program, "agent"}, agent.Config{
		RunUID: runUID, RunName: runUID, Target: client.Target, Listen: "127.0.0.1:0", Identity: bundle,
		Volumes:   []agent.VolumeConfig{{Name: "data", Path: b.directory}},
		Benchmark: runUID, BenchmarkUID: runUID, DatasetHash: "data", OrphanTimeout: time.Hour,
	})
	if err != nil {
		return err
	}
	b.conductor = conductor.New(conductor.Options{RunUID: runUID, Epoch: 1, LossTimeout: time.Minute})
	endpoint, err := b.agent.Endpoint(client, runUID, authority)
	if err != nil {
		return err
	}
	b.agent.Follow(b.conductor.Connect(endpoint))
	return nil
}

func (b *bench) close() {
	b.conductor.Finish([]decide.ClientKey{client}, conductor.FinishOptions{RemoveData: true}, func(decide.ClientKey, *agentapi.FinishResponse) {})
	select {
	case <-b.agent.Exited():
	case <-time.After(time.Minute):
		b.agent.Leave()
	}
	b.conductor.Close()
	_ = os.RemoveAll(b.directory)
}

// measure alternates until it knows. verdict is what fails; err that it could not be measured.
func (b *bench) measure(ctx context.Context) (verdict, err error) {
	fmt.Printf("%s: runs of %s, fio pinned to CPU %d\n", b.load.name, b.options.runtime, b.options.cpu)
	// The first step makes the directory and the files.
	if _, err := b.throughAgent(ctx); err != nil {
		return nil, err
	}
	var ratios, controls []float64
	for pair := 1; pair <= b.options.maxPairs; pair++ {
		ratio, err := b.pair(ctx, pair, b.throughAgent)
		if err != nil {
			return nil, err
		}
		control, err := b.pair(ctx, pair, b.bare)
		if err != nil {
			return nil, err
		}
		ratios, controls = append(ratios, ratio), append(controls, control)
		noise, cost := ratioInterval(controls), ratioInterval(ratios)
		if pair%10 == 0 {
			fmt.Printf("  %3d pairs: agent/bare %s; bare/bare %s\n", pair, cost, noise)
		}
		if pair < b.options.minPairs || noise.halfWidth() > wantedHalfWidth ||
			cost.lower <= wantedRatio && cost.halfWidth() > wantedHalfWidth {
			continue
		}
		return b.judge(cost, noise), nil
	}
	noise, cost := ratioInterval(controls), ratioInterval(ratios)
	fmt.Printf("  inconclusive: agent/bare %s; bare/bare %s\n", cost, noise)
	return fmt.Errorf("inconclusive: after %d pairs the control is known to +-%.2f %% only, not +-%.1f %%",
		len(controls), noise.halfWidth()*100, wantedHalfWidth*100), nil
}

func (b *bench) judge(cost, noise interval) error {
	fmt.Printf("  agent/bare %s\n  bare/bare  %s\n", cost, noise)
	if cost.lower <= wantedRatio {
		fmt.Printf("  FAILED: the lower bound %.4f is not above %.2f\n", cost.lower, wantedRatio)
		return fmt.Errorf("the lower bound of agent/bare, %.4f, is not above %.2f", cost.lower, wantedRatio)
	}
	fmt.Printf("  passed: the lower bound %.4f is above %.2f\n", cost.lower, wantedRatio)
	return nil
}

// pair runs one side and the bare one, each first in turn, and gives the ratio of operations.
func (b *bench) pair(ctx context.Context, number int, side func(context.Context) (uint64, error)) (float64, error) {
	order := []func(context.Context) (uint64, error){side, b.bare}
	if number%2 == 0 {
		order[0], order[1] = order[1], order[0]
	}
	first, err := order[0](ctx)
	if err != nil {
		return 0, err
	}
	second, err := order[1](ctx)
	if err != nil {
		return 0, err
	}
	ratio := float64(first) / float64(second)
	if number%2 == 0 {
		ratio = 1 / ratio
	}
	if math.IsNaN(ratio) || math.IsInf(ratio, 0) || ratio == 0 {
		return 0, fmt.Errorf("a run completed no operation: %d and %d", first, second)
	}
	return ratio, nil
}

// bare runs fio as anybody would, with its result only.
func (b *bench) bare(ctx context.Context) (uint64, error) {
	command := exec.CommandContext(ctx, "fio", fio.Arguments(0)...)
	command.Dir = b.bareDir
	command.Stdin = strings.NewReader(b.job)
	stdout, err := command.Output()
	if err != nil {
		return 0, fmt.Errorf("bare fio: %w", err)
	}
	output, err := fio.ReadOutput(strings.NewReader(string(stdout)))
	if err != nil {
		return 0, err
	}
	judged := fio.Final(output, fio.Exit{}, "", fio.Expectation{MeasuredMilliseconds: b.options.runtime.Milliseconds()})
	if judged.Outcome != fio.Complete {
		return 0, errors.New(judged.Message)
	}
	return judged.Snapshot.Operations[measure.Write].Total.Count, nil
}

// throughAgent runs the same job as a step, with live samples every second.
func (b *bench) throughAgent(ctx context.Context) (uint64, error) {
	b.runs++
	attempt := decide.Attempt{Step: fmt.Sprintf("run-%d", b.runs), Number: 1}
	if err := b.until(ctx, func(c decide.Client) bool { return c.Connection == decide.Ready }); err != nil {
		return 0, err
	}
	keys := []decide.ClientKey{client}
	b.conductor.Load(attempt, keys, func(decide.ClientKey) *agentapi.LoadRequest {
		return &agentapi.LoadRequest{Dataset: &agentapi.Dataset{}, Tool: &agentapi.LoadRequest_Fio{Fio: &agentapi.FioTool{
			Job: b.job, Jobs: 1, DurationNanoseconds: int64(b.options.runtime), SampleIntervalNanoseconds: int64(result.SampleInterval)}}}
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
		return 0, err
	}
	start := b.conductor.Reference.Now().Add(50 * time.Millisecond)
	b.conductor.Start(attempt, keys, start, start.Add(time.Minute))
	if err := b.until(ctx, reached(decide.Ended, decide.Refused)); err != nil {
		return 0, err
	}
	defer b.conductor.Forget(attempt)
	results := b.conductor.Results(attempt)
	if len(results) != 1 {
		return 0, fmt.Errorf("through the agent: %d results of one client", len(results))
	}
	if results[0].Failure != "" {
		return 0, fmt.Errorf("through the agent: %s: %s", results[0].Failure, results[0].FailureMessage)
	}
	return results[0].Operations[measure.Write].Operations, nil
}

// until waits for the client to be as wanted.
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
