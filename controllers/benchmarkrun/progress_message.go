package benchmarkrun

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/record"
)

const (
	// leastProgressInterval is the shortest interval at which the status reports the progress of a step. Each report is
	// a write to the API server. At this interval, 200 live runs cause 24 writes per second.
	leastProgressInterval = 8300 * time.Millisecond
	// progressBytesPerSecond limits how fast the progress reports of one run make etcd's database grow; see
	// progressInterval.
	progressBytesPerSecond = 10_000
	// firstConnectInterval is the interval between the first two reports about unconnected clients. The interval
	// doubles with each report, up to leastProgressInterval. Without this interval, the status of a run with a thousand
	// clients would be written each time a client connects.
	firstConnectInterval = 2 * time.Second
	// maxMessage is the API's limit on the length of status.message.
	maxMessage = 2048
)

// updateProgress sets the stage and the message, which show what the run is waiting for or the progress of its step.
func updateProgress(run *v1alpha1.BenchmarkRun, s *session, seen observation) {
	if run.Status.Stage == v1alpha1.StageFinishing || seen.snapshot.Failure != nil || seen.snapshot.Cancel != nil {
		return
	}
	now := s.now()
	if absent := unconnectedClients(seen.snapshot.Clients); absent != "" {
		if !s.absent.due(now) {
			return
		}
		s.absent = reports{last: now, interval: connectInterval(s.absent.interval)}
		if run.Status.Stage != v1alpha1.StageRunning && run.Status.Stage != v1alpha1.StageQueued {
			run.Status.Stage = v1alpha1.StageConnecting
		}
		run.Status.Message = v1alpha1.Truncate(absent, maxMessage)
		return
	}
	if !s.progress.due(now) {
		return
	}
	if message := progress(run, s); message != "" {
		run.Status.Message = message
		s.progress = reports{last: now, interval: progressInterval(run)}
	}
}

// reports limits how often progress is reported in the status: the next report is due one interval after the last
// report.
type reports struct {
	last     time.Time
	interval time.Duration
}

func (r reports) next() time.Time { return r.last.Add(r.interval) }

func (r reports) due(now time.Time) bool { return !now.Before(r.next()) }

// connectInterval returns how long to wait before the next report about unconnected clients. The parameter before is
// the previous wait, or 0 if no report has been made yet.
func connectInterval(before time.Duration) time.Duration {
	return min(max(2*before, firstConnectInterval), leastProgressInterval)
}

// progressInterval returns the time between two progress reports of a run. A report changes two kilobytes, but etcd
// stores the whole run again and keeps earlier versions for a few minutes. The interval grows with the size of the run,
// so that the reports of one run take at most 3 MB in five minutes; see docs/design/0039-live-figures.md.
func progressInterval(run *v1alpha1.BenchmarkRun) time.Duration {
	encoded, err := json.Marshal(run)
	if err != nil {
		return leastProgressInterval // ignore the encoding error: storing the status will fail with the same error
	}
	return max(leastProgressInterval, time.Duration(len(encoded))*time.Second/progressBytesPerSecond)
}

// unconnectedClients counts the clients that are not connected, and names the first two for each reason.
func unconnectedClients(clients []decide.Client) string {
	const named = 2
	var reasons []string
	waiting, absent := map[string][]string{}, 0
	for _, client := range clients {
		if client.Connection != decide.Connecting {
			continue
		}
		if waiting[client.Message] == nil {
			reasons = append(reasons, client.Message)
		}
		waiting[client.Message] = append(waiting[client.Message], client.Key.String())
		absent++
	}
	if absent == 0 {
		return ""
	}
	slices.SortStableFunc(reasons, func(a, b string) int { return cmp.Compare(len(waiting[b]), len(waiting[a])) })
	for i, reason := range reasons {
		reasons[i] = fmt.Sprintf("%s (%s)", reason, measure.FormatList(waiting[reason], named))
	}
	return fmt.Sprintf("waiting for %d of %d clients: %s", absent, len(clients), strings.Join(reasons, "; "))
}

// progress describes the progress of the live step, and records its live figures. It returns "" if no step is
// running.
func progress(run *v1alpha1.BenchmarkRun, s *session) string {
	for _, fact := range run.Status.Steps {
		if fact.State != v1alpha1.StepRunning || fact.EndTime != nil || fact.StartTime == nil {
			continue
		}
		elapsed := s.now().Sub(fact.StartTime.Time)
		if elapsed < time.Second {
			return ""
		}
		attempt := decide.Attempt{Step: fact.ID, Number: int(fact.Attempt)}
		bytesPerSecond, iops := s.conductor.Rate(attempt)
		step := s.plan.Step(fact.ID)
		record.Live(run, step, attempt, s.conductor.Doing(attempt), s.now())
		text := fmt.Sprintf("%s: %s%s", step.Label(), elapsed.Round(time.Second), step.Whole())
		if step.Purpose != plan.Idle {
			text += fmt.Sprintf(", %.1f MB/s, %.0f IOPS", bytesPerSecond/1e6, iops)
		}
		return v1alpha1.Truncate(text+unreachableClients(s.conductor.Unreachable(), len(s.conductor.Clients())), maxMessage)
	}
	return ""
}

// unreachableClients counts the clients that do not answer during a step, and names the first two.
func unreachableClients(keys []decide.ClientKey, clients int) string {
	const named = 2
	if len(keys) == 0 {
		return ""
	}
	var names []string
	for _, key := range keys {
		names = append(names, key.String())
	}
	return fmt.Sprintf("; %d of %d clients do not answer (%s)", len(keys), clients, measure.FormatList(names, named))
}
