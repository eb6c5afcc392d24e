package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/conductor"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/drive"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/internal/series"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/burstfs/model"
)

const (
	runUID = "run-1"
	// lossTimeout is the time after which an unreachable agent is lost.
	lossTimeout = 30 * time.Second
	// downtime is the time between an operator's death and the start of its successor.
	downtime = 2 * time.Second
)

// errDied is the error of an operator that dies.
var errDied = errors.New("the operator has died")

// World is a run with everything that it needs.
type World struct {
	House *House
	Plan  plan.Plan
	// Actions lists the operators' actions in order, except for waiting.
	Actions []decide.Action
	// Series holds the series of steps that have ended.
	Series []series.Step
	// Observed holds the values of the observations. Observer, if set, evaluates them.
	Observed []series.Observed
	Observer drive.Observer
	// Stored, if set, is called after facts have been stored, and Before, if set, before they are stored. If they return
	// true, the operator dies; after Before, the facts are lost.
	Stored, Before func(decide.Action) bool

	stored []byte // the run with its facts, as stored in an API server
	epoch  uint64
}

// NewWorld returns the world of a new run of a benchmark. stores holds the store of each target.
func NewWorld(benchmark *builders.BenchmarkBuilder, stores map[string]*Store) (*World, error) {
	spec := benchmark.Run()
	planned, problems := plan.Make(spec, 1)
	if len(problems) > 0 {
		return nil, problems.ToAggregate()
	}
	return WorldOf(record.New(record.Identity{Name: "run", Namespace: "default", UID: types.UID(runUID),
		Benchmark: v1alpha1.BenchmarkReference{Name: "benchmark"}, Hash: "a", Seed: 1,
		Objectives: benchmark.Obj().Spec.Objectives}, spec, planned), stores)
}

// WorldOf returns the world of a stored run that has not begun.
func WorldOf(run *v1alpha1.BenchmarkRun, stores map[string]*Store) (*World, error) {
	planned, err := plan.Thaw(&run.Spec)
	if err != nil {
		return nil, err
	}
	orphan, err := run.Spec.Run.OrphanTimeout.Parse()
	if err != nil {
		return nil, fmt.Errorf("spec.run.orphanTimeout: %w", err)
	}
	house, err := newHouse(runUID, orphan, stores)
	if err != nil {
		return nil, err
	}
	w := &World{House: house, Plan: planned}
	record.Begin(run, time.Now())
	return w, w.keep(run)
}

// StoreOf returns the stores of a world with a single target.
func StoreOf(target string, config model.Config, blocks int64) (map[string]*Store, error) {
	made, err := NewStore(config, blocks)
	return map[string]*Store{target: made}, err
}

// Close ends all clients of the world.
func (w *World) Close() { w.House.close() }

func (w *World) keep(run *v1alpha1.BenchmarkRun) (err error) {
	w.stored, err = json.Marshal(run)
	return err
}

// Run returns the run with the facts that were stored last.
func (w *World) Run() (*v1alpha1.BenchmarkRun, error) {
	run := &v1alpha1.BenchmarkRun{}
	return run, json.Unmarshal(w.stored, run)
}

// Conduct conducts the run to its end. When an operator dies, another one continues.
func (w *World) Conduct(ctx context.Context) (*v1alpha1.BenchmarkRun, error) {
	for {
		err := w.operate(ctx)
		if !errors.Is(err, errDied) {
			run, runErr := w.Run()
			return run, errors.Join(err, runErr)
		}
		time.Sleep(downtime)
	}
}

// OperateOnce runs the first operator until the run ends. It returns an error if the operator dies.
func (w *World) OperateOnce(ctx context.Context) error { return w.operate(ctx) }

// operator is a process that conducts the run.
type operator struct {
	*World
	run       *v1alpha1.BenchmarkRun
	conductor *conductor.Conductor
}

// operate runs one operator, which begins with the stored facts.
func (w *World) operate(ctx context.Context) error {
	run, err := w.Run()
	if err != nil {
		return err
	}
	w.epoch++
	o := &operator{World: w, run: run, conductor: conductor.New(conductor.Options{
		RunUID: runUID, Epoch: w.epoch, LossTimeout: lossTimeout, Tools: w.Plan.Tools,
		Steps: w.Plan.Steps, Records: record.Attempts(run, w.Plan)})}
	defer o.conductor.Close()
	for _, target := range run.Spec.Run.Targets {
		for index := range w.Plan.ClientsPerTarget {
			if err := o.connect(decide.ClientKey{Target: target.Name, Index: index}); err != nil {
				return err
			}
		}
	}
	loop := drive.New(drive.Options{Run: run, Clients: o, Store: o.store, Driver: drive.NewDriver(drive.Driver{Plan: w.Plan, Conductor: o.conductor,
		Shared: func(string) bool { return run.Spec.Run.UsesMPI() }, Observer: w.Observer})})
	if err := loop.Until(ctx); err != nil {
		return err
	}
	record.Finished(run, nil, o.conductor.Reference.Now())
	return w.keep(run)
}

// store stores the facts, unless the operator dies first.
func (o *operator) store(action decide.Action, out drive.Outcome) error {
	if action.Kind != decide.Wait {
		o.Actions = append(o.Actions, action)
	}
	if o.Before != nil && o.Before(action) {
		return errDied
	}
	if out.Series != nil {
		o.Series = append(o.Series, *out.Series)
	}
	o.Observed = append(o.Observed, out.Observed...)
	if action.Kind != decide.Wait {
		if err := o.keep(o.run); err != nil {
			return err
		}
	}
	if o.Stored != nil && o.Stored(action) {
		return errDied
	}
	return nil
}

// connect ensures that a client runs the agent attempt that the facts require, and connects to it.
func (o *operator) connect(key decide.ClientKey) error {
	attempt := 0
	for _, lost := range o.run.Status.LostClients {
		if lost.Replaced && lost.Target == key.Target && int(lost.Client) == key.Index {
			attempt++
		}
	}
	m := o.House.Member(key)
	if m == nil || m.attempt < attempt {
		if m != nil {
			o.House.Files(key).Lose() // a lost client loses its data too
			o.House.Kill(key)
		}
		if err := o.House.start(key, attempt); err != nil {
			return err
		}
		m = o.House.Member(key)
	}
	endpoint, err := o.House.endpoint(m)
	if err != nil {
		return err
	}
	lose := o.conductor.Connect(endpoint)
	o.House.all.Go(func() {
		<-m.exited
		lose("its process exited")
	})
	return nil
}

// Replace implements drive.Clients.
func (o *operator) Replace(keys []decide.ClientKey) error {
	for _, key := range keys {
		if err := o.connect(key); err != nil {
			return err
		}
	}
	return nil
}

// Finish implements drive.Clients.
func (o *operator) Finish(keys []decide.ClientKey) {
	o.conductor.Finish(keys, conductor.FinishOptions{RemoveData: true}, func(decide.ClientKey, *agentapi.FinishResponse) {})
}
