package agent

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/test/burstfs"
	"github.com/storagebench/storagebench/test/soak"
	"github.com/storagebench/storagebench/test/stillness"
)

func (s *store) set(config string) {
	s.t.Helper()
	_, err := burstfs.Ask(s.socket, burstfs.Set, []byte(config))
	must(s.t, err)
}

// between returns the bytes written between two instants. It assumes a constant rate within each second; the first and
// the last second are cut to the bounds of the series.
func (h truth) between(from, to, first, last float64) float64 {
	var sum float64
	for i := 1; i < len(h.seconds); i++ {
		begin, end := max(h.seconds[i-1], first), min(h.seconds[i], last)
		if begin < end && from < end && to > begin {
			sum += (h.bytes[i] - h.bytes[i-1]) * (min(to, end) - max(from, begin)) / (end - begin)
		}
	}
	return sum
}

// TestStallOfOneJob checks a stall of one of four jobs: one write takes five seconds, fio prints no dump meanwhile, and
// the next dump covers the whole stall. The series must show the stall at the right time and match the store's own
// record, and nothing may be killed. If the machine was so busy that it also delayed this process, the test is
// inconclusive.
func TestStallOfOneJob(t *testing.T) {
	soak.Only(t)
	s := mountStore(t, stallLimits)
	still := stillness.During(t)
	wrong := stallOneJob(t, s)
	if stood := still.Total(); len(wrong) > 0 && stood > 100*time.Millisecond {
		soak.Inconclusive(t, "the machine kept this process waiting for %s: %s", stood, strings.Join(wrong, "; "))
	}
	for _, one := range wrong {
		t.Error(one)
	}
}

const stallLimits = "buckets: [{name: volume, counts: bytes, baselinePerSecond: 4e6}]\n"

// stallOneJob returns the samples that deviate by more than a tenth from the store's record.
func stallOneJob(t *testing.T, s *store) (wrong []string) {
	t.Helper()
	const id = "a"
	r := serveAt(t, s.directory, nil)
	load := request(id, global+"ioengine=psync\ndirect=1\nrw=write\nbs=16k\nsize=8m\ntime_based=1\nruntime=15\nnumjobs=4\n[job]\n")
	load.GetFio().Jobs, load.GetFio().SampleIntervalNanoseconds, load.GetFio().DurationNanoseconds = 4, int64(time.Second), int64(15*time.Second)
	r.load(load)
	r.start(id, noLimit)
	r.jobs(4)
	time.Sleep(4 * time.Second)
	s.set(stallLimits + "failures: [{error: stall, stall: 5s, path: data.1.0, count: 1}]\n")
	ended, records := r.finished(id)
	if ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
		t.Fatalf("got %v", ended)
	}
	s.written() // Wait for the store to record the current second.
	told := s.truth()
	offset := float64(r.agent.env.Clock.Wall()-r.agent.env.Clock.Monotonic()) / 1e9
	var samples []measure.Sample
	var longest time.Duration
	for _, record := range records {
		if got := record.GetSample(); got != nil {
			sample := measure.Sample{StartNanoseconds: got.GetStartNanoseconds(), EndNanoseconds: got.GetEndNanoseconds()}
			for _, count := range got.GetCounts() {
				sample.Counters[count.GetOperation()] = measure.Counter{Bytes: count.GetBytes(), Operations: count.GetOperations()}
			}
			longest = max(longest, time.Duration(sample.EndNanoseconds-sample.StartNanoseconds))
			samples = append(samples, sample)
		}
	}
	if longest < 4*time.Second {
		t.Errorf("the longest sample is of %s: no dump was late, so nothing was tested", longest)
	}
	worst := 0.0
	first, last := float64(samples[0].StartNanoseconds)/1e9+offset, float64(samples[len(samples)-1].EndNanoseconds)/1e9+offset
	for sample := range measure.MergeLate(slices.Values(samples), int64(time.Second)) {
		from, to := float64(sample.StartNanoseconds)/1e9+offset, float64(sample.EndNanoseconds)/1e9+offset
		got, want := float64(sample.Counters[measure.Write].Bytes), told.between(from, to, first, last)
		off := (got - want) / want
		worst = max(worst, math.Abs(off))
		if math.Abs(got-want) > 0.10*want {
			wrong = append(wrong, fmt.Sprintf("from %.1f s for %.1f s: %.0f bytes, the store let through %.0f (%+.1f %%)",
				from-first, to-from, got, want, 100*off))
		}
	}
	soak.Report(t, "a stall of one job", "%d samples, the longest of %s; at most %.1f %% off", len(samples), longest, 100*worst)
	r.finish(true)
	return wrong
}

// TestStopBehindAnExhaustedStore checks that the agent waits for the writes in flight of a stopped fio, counts them and
// kills nothing. Eight clients with 32 writes of 1 MiB each are stopped on a store without credits: the writes take
// most of a minute, in which a client may complete none.
func TestStopBehindAnExhaustedStore(t *testing.T) {
	soak.Only(t)
	const clients, depth, perSecond = 8, 32, 6 << 20
	s := mountStore(t, fmt.Sprintf("buckets: [{name: volume, counts: bytes, baselinePerSecond: %d}]\n", perSecond))
	var rigs []*rig
	for i := range clients {
		r := serveAt(t, s.directory, func(a *Agent) { a.env.Config.DatasetHash = "hash" + itoa(i) })
		load := request("a", global+fmt.Sprintf("ioengine=libaio\ndirect=1\nrw=randwrite\nbs=1m\nsize=64m\niodepth=%d\ntime_based=1\nruntime=600\n[job]\n", depth))
		load.GetFio().SampleIntervalNanoseconds, load.GetFio().DurationNanoseconds = int64(time.Second), int64(10*time.Minute)
		load.GetFio().MaxOutstanding = depth
		r.load(load)
		// Writes beyond the end of a file are serialized; writes within it are all in flight at once.
		must(t, os.Truncate(grown(t, filepath.Join(s.directory, strings.Replace(dataPath, "hash", "hash"+itoa(i), 1), "data.0.0")), 64<<20))
		rigs = append(rigs, r)
	}
	for _, r := range rigs {
		r.start("a", 20*time.Minute)
	}
	for _, r := range rigs {
		r.jobs(1)
	}
	// The agent kills a fio that is stopped in its first two seconds.
	time.Sleep(4 * time.Second)
	eventually(t, "not all is in flight", func() bool { return s.inFlight() == clients*depth })
	told := time.Now()
	for _, r := range rigs {
		_, err := r.Stop(t.Context(), &agentapi.StopRequest{Epoch: 1, Step: key("a"), Reason: "enough was measured"})
		must(t, err)
	}
	var all sync.WaitGroup
	var sum uint64
	var mu sync.Mutex
	for i, r := range rigs {
		all.Go(func() {
			ended, records := r.finished("a")
			bytes, _ := sums(ended.GetOperations())
			if ended.GetOutcome() != agentapi.Outcome_OUTCOME_STOPPED || ended.GetReason() != "Stopped" || ended.GetMessage() != "enough was measured" {
				t.Errorf("client %d: %s %s: %s", i, ended.GetOutcome(), ended.GetReason(), ended.GetMessage())
			}
			if got, _ := sampled(records); got != bytes {
				t.Errorf("client %d: samples add up to %d bytes, fio says %d", i, got, bytes)
			}
			mu.Lock()
			defer mu.Unlock()
			sum += bytes
		})
	}
	all.Wait()
	took := time.Since(told)
	// The store has also received the agents' ownership files: a few bytes.
	if written := s.written(); math.Abs(float64(sum)-written) > 64<<10 {
		t.Errorf("the clients count %d bytes, the store %.0f", sum, written)
	}
	least := time.Duration(clients*depth) * time.Second << 20 / perSecond
	if took < least-2*time.Second || took > least+15*time.Second {
		t.Errorf("they ended after %s, what was in flight takes %s", took, least)
	}
	soak.Report(t, "stop behind an exhausted store", "ended after %s, what was in flight takes %s", took, least)
}

// grown creates an empty file for the test to extend and returns its path.
func grown(t *testing.T, path string) string {
	t.Helper()
	must(t, os.WriteFile(path, nil, 0o600))
	return path
}

// inFlight returns the number of outstanding requests at the end of the latest second.
func (s *store) inFlight() int {
	s.t.Helper()
	text, err := burstfs.Ask(s.socket, burstfs.Truth, nil)
	must(s.t, err)
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	must(s.t, err)
	if len(lines) < 2 {
		return 0
	}
	for i, name := range lines[0] {
		if name == "in_flight" {
			count, err := strconv.Atoi(lines[len(lines)-1][i])
			must(s.t, err)
			return count
		}
	}
	s.t.Fatalf("the store does not report requests in flight: %v", lines[0])
	return 0
}
