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

// Smaller sizes are for work on the operator: `make soak PARTS=scale` has the full ones.
var (
	sizes    = flag.String("scale.agents", "125,250,500,1000,2000", "`numbers` of agents of TestManyRuns")
	window   = flag.Duration("scale.window", 2*time.Minute, "`time` to measure at each size")
	last     = flag.Duration("scale.last", 15*time.Minute, "`time` to measure at the last size")
	shortest = flag.Duration("scale.shortest", 4*time.Minute, "`time` that the shortest run loads; the longest takes twice as long")
	largest  = flag.Int("scale.largest", 5, "`number` of runs of TestLargestRuns, of 1000 clients each")
	history  = flag.Int("scale.history", 10_000, "`number` of runs of TestHistory")
	profiles = flag.Bool("scale.profile", false, "keep profiles of the operator at each size in bin/scale")
)

// memoryLimit is the GOMEMLIMIT of the Deployment.
const memoryLimit = "GOMEMLIMIT=450MiB"

// clientsPerRun is the number of clients of each run where there are many runs.
const clientsPerRun = 10

const (
	// mostWrites are the writes to the API server a second for a run, and statusAge is how far its status may be behind.
	mostWrites = 0.2
	statusAge  = 10 * time.Second
	// mostLate is the longest delay of a sample of the simulator: a machine that is busier than that measures itself.
	mostLate = 2 * time.Second
)

// Record holds the results of a test of this part for programs.
type Record struct {
	Figures []Figures `json:"figures"`
	// Runs are those that were compared, Samples what their agents have sent, Wrong what the operator counted otherwise.
	Runs    int      `json:"runs"`
	Samples uint64   `json:"samples"`
	Wrong   []string `json:"wrong,omitempty"`
}

// TestManyRuns: what the operator costs beside more and more agents with a sample a second, while runs begin and end all
// the time; and that it counts each sample once.
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
		t.Errorf("%d runs were compared of %d", record.Runs, slots.begun)
	}
	judge(t, record.Figures)
}

// end waits until nothing is left of the runs, and keeps the record.
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

// judge holds the figures against what is promised, unless the machine was too busy.
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
