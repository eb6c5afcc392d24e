package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/conductor"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/identity"
	"github.com/storagebench/storagebench/internal/process"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/internal/watch"
)

const (
	// lossTimeout is how long an agent on this machine may be out of reach while its process lives.
	lossTimeout = 30 * time.Second
	// beat is how often progress is told and decisions are made again when nothing happens.
	beat = time.Second
	// tellEvery is how often the status says what the running step does at present.
	tellEvery = 500 * time.Millisecond
	// leaveTimeout is how long an agent may take to go once it has finished.
	leaveTimeout = 10 * time.Second
)

// runner is one local run.
type runner struct {
	options   Options
	run       *v1alpha1.BenchmarkRun
	conductor *conductor.Conductor
	watcher   *watch.Watcher
	authority *identity.Authority
	targets   map[string]*target
	cancelled *decide.Failure
	left      []v1alpha1.DataLeft
	// told is when the status last said what the running step does at present.
	told time.Time

	// mu keeps an agent from being taken for an orphan while it is being started.
	mu     sync.Mutex
	agents map[decide.ClientKey]*Agent
}

// Run carries the benchmark out. A context that ends stops the load; the run then ends as failed,
// with the results so far. An error means that nothing was begun and there is no run.
func Run(ctx context.Context, options Options) (*v1alpha1.BenchmarkRun, error) {
	if err := process.SetSubreaper(); err != nil {
		return nil, fmt.Errorf("become the parent of orphans: %w", err)
	}
	if err := checkTools(options.Plan, options.Run); err != nil {
		return nil, err
	}
	run, err := newRun(options)
	if err != nil {
		return nil, err
	}
	r := &runner{options: options, run: run, targets: map[string]*target{}, agents: map[decide.ClientKey]*Agent{}}
	defer r.release()
	if err := r.prove(); err != nil {
		return nil, err
	}
	if err := r.identify(); err != nil {
		return nil, err
	}
	r.conductor = conductor.New(conductor.Options{RunUID: string(run.UID), Epoch: 1, LossTimeout: lossTimeout, Tools: options.Plan.Tools})
	r.watcher = watch.New(r.conductor)
	record.Begin(run, r.now())
	options.Journal.Write(Entry{Run: run, Data: r.data()})
	for _, spec := range options.Run.Targets {
		for index := range options.Plan.ClientsPerTarget {
			if err := r.add(decide.ClientKey{Target: spec.Name, Index: index}); err != nil {
				return nil, errors.Join(err, r.clear())
			}
		}
	}
	if err := r.loop(ctx); err != nil {
		return nil, errors.Join(err, r.clear())
	}
	if err := r.clear(); err != nil {
		r.left = append(r.left, v1alpha1.DataLeft{Path: "/proc", Reason: err.Error()})
	}
	record.Finished(run, r.left, r.now())
	options.Observe(Progress{Run: run})
	return run, nil
}

func (r *runner) now() time.Time { return r.conductor.Reference.Now() }

func (r *runner) identify() error {
	master, err := identity.NewMaster()
	if err != nil {
		return fmt.Errorf("make the run's identities: %w", err)
	}
	deadline, err := r.options.Run.ActiveDeadline.Parse()
	if err != nil {
		return fmt.Errorf("spec.run.activeDeadline: %w", err)
	}
	r.authority, err = identity.ForRun(master, string(r.run.UID), identity.ValidityOf(time.Now(), deadline, time.Hour))
	if err != nil {
		return fmt.Errorf("make the run's identities: %w", err)
	}
	return nil
}

// loop decides and acts until nothing is left to do.
func (r *runner) loop(ctx context.Context) error {
	for {
		if ctx.Err() != nil && r.cancelled == nil {
			r.cancelled = &decide.Failure{Reason: v1alpha1.ReasonStopped, Message: context.Cause(ctx).Error()}
			record.Fail(r.run, *r.cancelled, r.now())
		}
		clients := r.conductor.Clients()
		record.Losses(r.run, clients, r.now())
		snapshot, err := record.Snapshot(r.run, r.options.Plan, clients)
		if err != nil {
			return err
		}
		snapshot.Enough = r.watcher.Look(r.options.Plan, snapshot, record.Baselines(r.run), record.Documented(r.run))
		snapshot.Cancel = r.cancelled
		action := decide.Next(snapshot, r.now())
		settled, err := r.apply(action, snapshot)
		r.options.Journal.Write(Entry{Run: r.run})
		if err != nil {
			return err
		}
		r.observe(snapshot)
		if action.Kind == decide.Done {
			return nil
		}
		if !settled {
			continue
		}
		r.wait(ctx, action.Until)
	}
}

// wait returns when there may be something to do: at the latest then, where that is known.
func (r *runner) wait(ctx context.Context, latest time.Time) {
	stopped := ctx.Done()
	if r.cancelled != nil {
		stopped = nil
	}
	longest := beat
	if !latest.IsZero() {
		longest = max(0, min(beat, latest.Sub(r.now())))
	}
	timer := time.NewTimer(longest)
	defer timer.Stop()
	select {
	case <-r.conductor.Changed():
	case <-timer.C:
	case <-stopped:
	}
}

// killOrphans ends what a dead agent has left running, before anything else uses its files.
func (r *runner) killOrphans() {
	r.mu.Lock()
	defer r.mu.Unlock()
	var agents []int
	for _, agent := range r.agents {
		agents = append(agents, agent.command.Process.Pid)
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	// What cannot be ended now is tried again, and told, at the end of the run.
	_ = process.KillDescendants(ctx, os.Getpid(), agents...)
}

// clear ends whatever still runs below us and removes the data that the agents could not.
func (r *runner) clear() error {
	r.conductor.Close()
	for _, agent := range r.agents {
		agent.Leave()
	}
	patience := time.After(leaveTimeout)
	for _, agent := range r.agents {
		select {
		case <-agent.Exited():
		case <-patience:
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	err := process.KillDescendants(ctx, os.Getpid())
	for _, t := range r.targets {
		r.left = append(r.left, t.sweep()...)
	}
	for _, t := range r.targets {
		t.clearLeft(r.run)
	}
	return err
}
