package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/conductor"
	"github.com/storagebench/storagebench/internal/dataset"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/identity"
	"github.com/storagebench/storagebench/internal/process"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/internal/version"
)

const (
	// lossTimeout is how long an agent on this machine may be out of reach while its process lives.
	lossTimeout = 30 * time.Second
	// beat is how often progress is told and decisions are made again when nothing happens.
	beat = time.Second
	// leaveTimeout is how long an agent may take to go once it has finished.
	leaveTimeout = 10 * time.Second
)

// runner is one local run.
type runner struct {
	options   Options
	run       *v1alpha1.BenchmarkRun
	conductor *conductor.Conductor
	authority *identity.Authority
	targets   map[string]*target
	cancelled *decide.Failure
	left      []v1alpha1.DataLeft

	// mu keeps an agent from being taken for an orphan while it is being started.
	mu     sync.Mutex
	agents map[decide.ClientKey]*Agent
}

// target is a directory that is loaded.
type target struct {
	name  string
	uid   string
	mount dataset.Mount
	lock  *dataset.Lock
	keep  bool
}

// Run carries the benchmark out. A context that ends stops the load; the run then ends as failed,
// with the results so far. An error means that nothing was begun and there is no run.
func Run(ctx context.Context, options Options) (*v1alpha1.BenchmarkRun, error) {
	if err := process.SetSubreaper(); err != nil {
		return nil, fmt.Errorf("become the parent of orphans: %w", err)
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
	r.conductor = conductor.New(conductor.Options{RunUID: string(run.UID), Epoch: 1, LossTimeout: lossTimeout})
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

// prove looks at every directory before anything is written, and takes its lock.
func (r *runner) prove() error {
	for _, spec := range r.options.Run.Targets {
		directory := r.options.Directories[spec.Name]
		mount, err := dataset.ProveMount(directory, dataset.Expectation{})
		if err != nil {
			return fmt.Errorf("target %s: %w", spec.Name, err)
		}
		uid, err := benchmarkUID(r.options.Benchmark, spec.Name, directory)
		if err != nil {
			return err
		}
		if err := r.checkSpace(spec.Name, mount); err != nil {
			return fmt.Errorf("target %s: %w", spec.Name, err)
		}
		added := &target{name: spec.Name, uid: uid, mount: mount, keep: spec.DataPolicy == v1alpha1.DataRetain}
		r.targets[spec.Name] = added
		added.lock, err = dataset.AcquireLock(mount, dataset.Owner{
			BenchmarkUID: uid,
			Benchmark:    r.options.Benchmark.Name,
			RunUID:       string(r.run.UID),
			Run:          r.run.Name,
			CreatedBy:    version.Version,
		})
		if err != nil {
			return fmt.Errorf("target %s: %w", spec.Name, err)
		}
	}
	return nil
}

// checkSpace refuses a run that could not lay its data down: each agent checks for itself too, but
// cannot know of the others. Data of an earlier run may be there to be used again; then only the
// agents can tell.
func (r *runner) checkSpace(name string, mount dataset.Mount) error {
	var need uint64
	for _, step := range r.options.Plan.Steps {
		need += step.NewBytes[name] * uint64(r.options.Plan.ClientsPerTarget) //nolint:gosec // The API allows far fewer clients.
	}
	if _, err := os.Lstat(filepath.Join(mount.Path, v1alpha1.DataDirectory)); err == nil || need <= mount.AvailableBytes {
		return nil
	}
	return &dataset.SpaceError{Path: mount.Path, NeedBytes: need, FreeBytes: mount.AvailableBytes}
}

// data is what the end of the run has to remove.
func (r *runner) data() []Data {
	var all []Data
	for _, t := range r.targets {
		if !t.keep {
			all = append(all, Data{Path: t.mount.Path, BenchmarkUID: t.uid})
		}
	}
	return all
}

// release gives the locks up; what holds nothing any more is removed with them.
func (r *runner) release() {
	for _, t := range r.targets {
		if t.lock != nil {
			_ = t.lock.Release()
		}
	}
}

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
		snapshot, err := record.Snapshot(r.run, clients)
		if err != nil {
			return err
		}
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
		r.wait(ctx)
	}
}

// wait returns when there may be something to do.
func (r *runner) wait(ctx context.Context) {
	stopped := ctx.Done()
	if r.cancelled != nil {
		stopped = nil
	}
	timer := time.NewTimer(beat)
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
		if t.keep {
			continue
		}
		if sweepErr := dataset.Sweep(context.Background(), t.mount.Path, t.uid); sweepErr != nil {
			r.left = append(r.left, v1alpha1.DataLeft{Target: t.name, Path: t.mount.Path, Reason: sweepErr.Error()})
		}
	}
	return err
}
