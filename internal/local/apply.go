package local

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agent"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/conductor"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/internal/series"
)

// apply carries an action out. settled is false when it changed the facts at once, so that there is
// more to decide before anything happens outside.
func (r *runner) apply(action decide.Action, snapshot decide.Snapshot) (settled bool, err error) {
	switch action.Kind {
	case decide.Wait, decide.Done:
		return true, nil
	case decide.Load:
		return r.load(action)
	case decide.Start:
		if len(r.run.Status.Environments) == 0 {
			record.Environments(r.run, r.conductor.Environments())
		}
		if err := r.noteStorage(); err != nil {
			return false, fmt.Errorf("record what is documented of the storage: %w", err)
		}
		record.Intent(r.run, r.options.Plan.Step(action.Attempt.Step), action)
		r.conductor.Start(action.Attempt, action.Clients, action.Start, action.Deadline)
		return true, nil
	case decide.Stop:
		r.conductor.Stop(action.Attempt, action.Clients, snapshot.WhyStopped())
		return true, nil
	case decide.Conclude:
		record.Conclude(r.run, action, r.now())
		r.conductor.Stop(action.Attempt, action.Clients, action.Reason)
		return true, nil
	case decide.RecordResult:
		step := r.options.Plan.Step(action.Attempt.Step)
		clients := r.conductor.Results(action.Attempt)
		record.Result(r.run, step, action.Attempt, clients, r.now())
		r.keepSeries(record.Series(r.run, step, action.Attempt, clients, r.conductor.Latencies(action.Attempt)))
		r.conductor.Forget(action.Attempt)
	case decide.Retry:
		record.Retry(r.run, action, r.now())
	case decide.Replace:
		return true, r.replace(action, snapshot)
	case decide.Fail:
		record.Fail(r.run, *action.Failure, r.now())
	case decide.Finish:
		record.Finishing(r.run, r.now())
		r.finish(action.Clients)
		return true, nil
	}
	return false, nil
}

// keepSeries notes what a step did over time, here and with the guard.
func (r *runner) keepSeries(step series.Step) {
	r.options.Series.Add(step)
	r.options.Journal.Write(Entry{Series: &step})
}

// load sends a step, rendered for each client, to its agents.
func (r *runner) load(action decide.Action) (settled bool, err error) {
	// Whatever the claims say, all clients of a target have one directory here.
	shared := func(string) bool { return true }
	requests, err := r.conductor.Requests(r.options.Plan.Step(action.Attempt.Step), action.Clients, r.run.Spec.Seed, shared)
	var failure *decide.Failure
	switch {
	case errors.As(err, &failure):
		record.Fail(r.run, *failure, r.now())
		return false, nil
	case err != nil:
		return false, err
	}
	r.conductor.Load(action.Attempt, action.Clients, requests)
	return true, nil
}

// replace starts new agents in place of lost ones.
func (r *runner) replace(action decide.Action, snapshot decide.Snapshot) error {
	for _, client := range snapshot.Clients {
		if !slices.Contains(action.Clients, client.Key) {
			continue
		}
		record.Lost(r.run, client, true, r.now())
		// One that is out of reach may live, and load the files of its replacement.
		r.agents[client.Key].Kill()
		r.killOrphans()
		if err := r.add(client.Key); err != nil {
			return err
		}
	}
	return nil
}

// add starts an agent and connects to it.
func (r *runner) add(key decide.ClientKey) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.targets[key.Target]
	bundle, err := r.authority.Client(key.Target, key.Index)
	if err != nil {
		return fmt.Errorf("make the identity of client %s: %w", key, err)
	}
	spawned, err := StartAgent(r.options.AgentCommand, agent.Config{
		RunUID:       string(r.run.UID),
		RunName:      r.run.Name,
		Target:       key.Target,
		Client:       key.Index,
		Listen:       "127.0.0.1:0",
		Identity:     bundle,
		Volumes:      t.configs(),
		Benchmark:    r.options.Benchmark.Name,
		BenchmarkUID: t.uid,
		Installation: installationName,
		DatasetHash:  r.options.Plan.DatasetHash,
		KeepData:     t.keep,
		FioPath:      r.options.FioPath,
		// The lifeline tells sooner; this is for a runner that lives and does not speak.
		OrphanTimeout: time.Hour,
	}, t.locks()...)
	if err != nil {
		return fmt.Errorf("client %s: %w", key, err)
	}
	r.agents[key] = spawned
	endpoint, err := spawned.Endpoint(key, string(r.run.UID), r.authority)
	if err != nil {
		return fmt.Errorf("client %s: %w", key, err)
	}
	lose := r.conductor.Connect(endpoint)
	spawned.Follow(func(message string) {
		r.killOrphans()
		lose(message)
	})
	return nil
}

// finish tells agents to leave, with or without their data.
func (r *runner) finish(keys []decide.ClientKey) {
	for _, t := range r.targets {
		var own []decide.ClientKey
		for _, key := range keys {
			if key.Target == t.name {
				own = append(own, key)
			}
		}
		r.conductor.Finish(own, conductor.FinishOptions{RemoveData: !t.keep}, func(decide.ClientKey, *agentapi.FinishResponse) {
			// What an agent could not remove is found and named by the sweep at the end.
		})
	}
}

// observe tells how the run stands.
func (r *runner) observe(snapshot decide.Snapshot) {
	progress := Progress{Run: r.run}
	for _, fact := range r.run.Status.Steps {
		if fact.State != v1alpha1.StepRunning || fact.EndTime != nil || fact.StartTime == nil {
			continue
		}
		attempt := decide.Attempt{Step: fact.ID, Number: int(fact.Attempt)}
		live := &Live{Step: r.options.Plan.Step(fact.ID), Elapsed: r.now().Sub(fact.StartTime.Time)}
		for _, client := range snapshot.Clients {
			if client.Attempts[attempt].Progress == decide.Running {
				live.Clients++
			}
		}
		live.BytesPerSecond, live.IOPS = r.conductor.Rate(attempt)
		progress.Live = live
		if now := r.now(); now.Sub(r.told) >= tellEvery {
			r.told = now
			record.Live(r.run, live.Step, attempt, r.conductor.Doing(attempt), now)
		}
	}
	r.options.Observe(progress)
}
