package scale

import (
	"encoding/json"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/test/soak"
)

// The defaults are the sizes of `make soak PARTS=scale`. Smaller sizes help when working on the operator.
var (
	sizes    = flag.String("scale.agents", "125,250,500,1000,2000", "`numbers` of agents of TestManyRuns")
	window   = flag.Duration("scale.window", 2*time.Minute, "`time` to measure at each size")
	last     = flag.Duration("scale.last", 15*time.Minute, "`time` to measure at the last size")
	shortest = flag.Duration("scale.shortest", 4*time.Minute, "`time` that the shortest run loads; the longest takes twice as long")
	largest  = flag.Int("scale.largest", 5, "`number` of runs of TestLargestRuns, of 1000 clients each")
	history  = flag.Int("scale.history", 10_000, "`number` of runs of TestHistory")
	profiles = flag.Bool("scale.profile", false, "keep profiles of the operator at each size in bin/scale")
)

// memoryLimit is the GOMEMLIMIT that the operator's Deployment sets.
const memoryLimit = "GOMEMLIMIT=450MiB"

// clientsPerRun is the number of clients per run in tests with many runs.
const clientsPerRun = 10

const (
	// mostWrites is the maximum number of writes to the API server per run and second. statusAge is the maximum age of the
	// live figures in a status.
	mostWrites = 0.2
	statusAge  = 10 * time.Second
	// mostLate is the maximum delay of a simulated sample. If samples are later, the machine is too busy to judge the
	// operator.
	mostLate = 2 * time.Second
)

// Record holds the results of a scale test in machine-readable form.
type Record struct {
	Figures []Figures `json:"figures"`
	// Runs is the number of runs whose counts were compared, and Samples the number of samples that their agents sent.
	// Wrong lists the differences in the operator's counts.
	Runs    int      `json:"runs"`
	Samples uint64   `json:"samples"`
	Wrong   []string `json:"wrong,omitempty"`
}

// TestManyRuns measures the operator's CPU, memory and API writes with increasing numbers of agents, each of which
// sends a sample per second, while runs continually begin and end. The operator must count each sample once.
func TestManyRuns(t *testing.T) {
	soak.Only(t)
	w := newWorld(t)
	w.operate(memoryLimit)
	slots := w.newSlots(soak.Seed(t), clientsPerRun, *shortest, 2**shortest)
	var record Record
	all := strings.Split(*sizes, ",")
	for i, text := range all {
		agents, err := strconv.Atoi(text)
		must(t, err)
		runs := max(1, agents/clientsPerRun)
		slots.grow(runs)
		length := *window
		if i == len(all)-1 {
			length = *last
		}
		if *profiles {
			go w.profile(fmt.Sprintf("profile?seconds=%d", int(length.Seconds())/2), "cpu-"+text)
		}
		record.Figures = append(record.Figures, w.measure(runs, length))
		if *profiles {
			w.profile("heap", "heap-"+text)
			w.profile("allocs", "allocs-"+text)
		}
		t.Logf("\n%s", table(record.Figures))
	}
	slots.stop()
	slots.all.Wait()
	w.end(&record)
	if record.Runs != slots.begun {
		t.Errorf("compared %d runs of %d", record.Runs, slots.begun)
	}
	judge(t, record.Figures)
}

// end waits until nothing is left of the runs, and saves the record.
func (w *world) end(record *Record) {
	w.Helper()
	w.nothingLeft()
	w.mu.Lock()
	record.Runs, record.Samples, record.Wrong = w.checked, w.samples, w.wrong
	w.mu.Unlock()
	keep(w.T, record)
	soak.Report(w, "figures", "%s%d runs, %d samples, %d runs with wrong counts", table(record.Figures),
		record.Runs, record.Samples, len(record.Wrong))
	encoded, err := json.Marshal(record)
	must(w, err)
	soak.Report(w, "record", "%s", encoded)
	for _, one := range record.Wrong {
		w.Error(one)
	}
}

// judge compares the figures with their bounds, unless the machine was too busy.
func judge(t *testing.T, all []Figures) {
	t.Helper()
	for _, one := range all {
		if one.SampleLateSeconds > mostLate.Seconds() {
			soak.Inconclusive(t, "the simulator's samples were up to %.1f s late at %d agents", one.SampleLateSeconds, one.Agents)
		}
	}
	for _, one := range all {
		if writes := one.writesPerRunSecond(); writes > mostWrites {
			t.Errorf("%d agents: %.3f writes a second a run, want at most %.1f", one.Agents, writes, mostWrites)
		}
		if one.StatusAgeMostSeconds > statusAge.Seconds() {
			t.Errorf("%d agents: a status was %.1f s behind, want at most %s", one.Agents, one.StatusAgeMostSeconds, statusAge)
		}
	}
}
