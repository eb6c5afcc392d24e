package record

import (
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
)

// Losses records the loss of every lost client that is not recorded yet. It ignores clients that are lost while the
// run removes its data, because their work is done.
func Losses(run *v1alpha1.BenchmarkRun, clients []decide.Client, now time.Time) {
	if condition(run, v1alpha1.ConditionDataRemoved) != nil {
		return
	}
	for _, client := range clients {
		if client.Connection == decide.Lost {
			Lost(run, client, false, now)
		}
	}
}

// Lost records the loss of a client once. replaced is true if a replacement takes its place.
func Lost(run *v1alpha1.BenchmarkRun, client decide.Client, replaced bool, now time.Time) {
	known := 0
	for i := range run.Status.LostClients {
		lost := &run.Status.LostClients[i]
		if lost.Target != client.Key.Target || int(lost.Client) != client.Key.Index {
			continue
		}
		// The entries of one client are in the order of its pods: the first is the loss of the original client, the
		// second the loss of its replacement, and so on.
		if known++; known > client.Replacements {
			lost.Replaced = lost.Replaced || replaced
			return
		}
	}
	if len(run.Status.LostClients) == maxLostClients {
		return
	}
	lost := v1alpha1.LostClient{
		Target:   client.Key.Target,
		Client:   int32(client.Key.Index), //nolint:gosec // The API allows far fewer clients.
		Time:     micro(now),
		Reason:   v1alpha1.Truncate(client.Message, maxReason),
		Replaced: replaced,
	}
	for _, fact := range run.Status.Steps {
		if fact.EndTime == nil {
			lost.Step = fact.ID
		}
	}
	run.Status.LostClients = append(run.Status.LostClients, lost)
}

// LossOf returns the last loss of a client, or nil if the client was never lost or has been replaced.
func LossOf(run *v1alpha1.BenchmarkRun, key decide.ClientKey) *v1alpha1.LostClient {
	var newest *v1alpha1.LostClient
	for i := range run.Status.LostClients {
		if lost := &run.Status.LostClients[i]; lost.Target == key.Target && int(lost.Client) == key.Index {
			newest = lost
		}
	}
	if newest == nil || newest.Replaced {
		return nil
	}
	return newest
}
