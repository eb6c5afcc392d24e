package local

import (
	"fmt"
	"time"

	"github.com/storagebench/storagebench/internal/agent"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/conductor"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/drive"
)

// store saves what has changed in the run: its state, the series of a step that has ended, and the observations. It
// also sends them to the guard process, which completes the run's record if this process dies.
func (r *runner) store(_ decide.Action, out drive.Outcome) error {
	if out.Series != nil {
		r.options.Series.Add(*out.Series)
		r.options.Journal.Write(Entry{Series: out.Series})
	}
	if len(out.Observed) > 0 {
		r.options.Series.Observe(out.Observed)
		r.options.Journal.Write(Entry{Observed: out.Observed})
	}
	r.options.Journal.Write(Entry{Run: r.run})
	return nil
}

// Replace starts new agents to replace lost ones.
func (r *runner) Replace(keys []decide.ClientKey) error {
	for _, key := range keys {
		// Kill the lost agent first. It may be unreachable but alive, and write to the files that its replacement will
		// use.
		r.agents[key].Kill()
		r.killOrphans()
		if err := r.add(key); err != nil {
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
		return fmt.Errorf("create the identity of client %s: %w", key, err)
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
		// OrphanTimeout only matters if the runner is alive but silent. If the runner dies, the agent notices at
		// once, because the lifeline pipe between them breaks.
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

// Finish asks the agents to exit. Unless a target keeps its data, its agents remove the data before they exit.
func (r *runner) Finish(keys []decide.ClientKey) {
	for _, t := range r.targets {
		var own []decide.ClientKey
		for _, key := range keys {
			if key.Target == t.name {
				own = append(own, key)
			}
		}
		r.conductor.Finish(own, conductor.FinishOptions{RemoveData: !t.keep}, func(decide.ClientKey, *agentapi.FinishResponse) {
			// Data that an agent could not remove is found and reported by target.sweep when the run has ended.
		})
	}
}
