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
	"github.com/storagebench/storagebench/internal/drive"
	"github.com/storagebench/storagebench/internal/identity"
	"github.com/storagebench/storagebench/internal/process"
	"github.com/storagebench/storagebench/internal/record"
)

const (
	// lossTimeout limits how long an agent on this machine may be unreachable while its process is alive.
	lossTimeout = 30 * time.Second
	// leaveTimeout limits how long the agents may take to exit at the end of the run.
	leaveTimeout = 10 * time.Second
)

// runner executes one local run.
type runner struct {
	options   Options
	run       *v1alpha1.BenchmarkRun
	conductor *conductor.Conductor
	authority *identity.Authority
	targets   map[string]*target
	left      []v1alpha1.DataLeft

	// mu ensures that killOrphans does not kill an agent that is being started.
	mu     sync.Mutex
	agents map[decide.ClientKey]*Agent
}

// Run runs the benchmark. If ctx is canceled, the load stops, and the run fails but keeps the results so far. An error
// means that no run was created.
func Run(ctx context.Context, options Options) (*v1alpha1.BenchmarkRun, error) {
	if err := process.SetSubreaper(); err != nil {
		return nil, fmt.Errorf("become the subreaper of orphaned processes: %w", err)
	}
	if err := checkTools(options.Plan, options.Run); err != nil {
		return nil, err
	}
	run, err := newRun(options)
	if err != nil {
		return nil, err
	}
	r := &runner{options: options, run: run, targets: map[string]*target{}, agents: map[decide.ClientKey]*Agent{}}
	defer func() {
		r.release()
		if run.Status.EndTime != nil {
			options.Journal.Write(Entry{Run: run, Ended: true})
		}
	}()
	if err := r.prove(); err != nil {
		return nil, err
	}
	if err := r.createIdentities(); err != nil {
		return nil, err
	}
	r.conductor = conductor.New(conductor.Options{RunUID: string(run.UID), Epoch: 1, LossTimeout: lossTimeout,
		Tools: options.Plan.Tools, Steps: options.Plan.Steps})
	record.Begin(run, r.now())
	options.Journal.Write(Entry{Run: run, Data: r.data()})
	for _, spec := range options.Run.Targets {
		for index := range options.Plan.ClientsPerTarget {
			if err := r.add(decide.ClientKey{Target: spec.Name, Index: index}); err != nil {
				return nil, errors.Join(err, r.clear())
			}
		}
	}
	if err := r.conduct(ctx); err != nil {
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

func (r *runner) createIdentities() error {
	master, err := identity.NewMaster()
	if err != nil {
		return fmt.Errorf("create the run's identities: %w", err)
	}
	deadline, err := r.options.Run.ActiveDeadline.Parse()
	if err != nil {
		return fmt.Errorf("spec.run.activeDeadline: %w", err)
	}
	r.authority, err = identity.ForRun(master, string(r.run.UID), identity.ValidityOf(time.Now(), deadline, time.Hour))
	if err != nil {
		return fmt.Errorf("create the run's identities: %w", err)
	}
	return nil
}

// conduct drives the run until it has ended.
func (r *runner) conduct(ctx context.Context) error {
	return drive.New(drive.Options{
		// In a local run, all clients of a target share one directory, no matter what the claims specify.
		Driver: drive.NewDriver(drive.Driver{Plan: r.options.Plan, Conductor: r.conductor, Shared: func(string) bool { return true },
			Observer: r.options.Observer}),
		Run: r.run, Clients: r,
		Storage: r.noteStorage,
		Store:   r.store,
		Observe: r.options.Observe,
	}).Until(ctx)
}

// killOrphans kills the processes that a dead agent left running, before another agent uses the same files.
func (r *runner) killOrphans() {
	r.mu.Lock()
	defer r.mu.Unlock()
	var agents []int
	for _, agent := range r.agents {
		agents = append(agents, agent.command.Process.Pid)
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	// Processes that cannot be killed now are killed, or reported, at the end of the run.
	_ = process.KillDescendants(ctx, os.Getpid(), agents...)
}

// clear stops the remaining child processes and removes the data that the agents could not remove.
func (r *runner) clear() error {
	r.conductor.Close()
	for _, agent := range r.agents {
		agent.Leave()
	}
	patience, stop := context.WithTimeout(context.Background(), leaveTimeout)
	defer stop()
	for _, agent := range r.agents {
		select {
		case <-agent.Exited():
		case <-patience.Done():
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	err := process.KillDescendants(ctx, os.Getpid())
	for _, t := range r.targets {
		r.left = append(r.left, t.sweep(r.run)...)
	}
	for _, t := range r.targets {
		t.removeOrphans(r.run)
	}
	return err
}
