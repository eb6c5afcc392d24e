package scale

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/storagebench/storagebench/test/binaries"
)

// Figures holds the measurements of one window with a constant number of agents. The units are part of the names.
type Figures struct {
	Agents        int64   `json:"agents"`
	Runs          int     `json:"runs"`
	WindowSeconds float64 `json:"windowSeconds"`

	// The operator's CPU time and allocated bytes in the window, and its memory and goroutines at the end of the window.
	CPUSeconds     float64 `json:"cpuSeconds"`
	AllocatedBytes int64   `json:"allocatedBytes"`
	HeapBytes      int64   `json:"heapBytes"`
	ResidentBytes  int64   `json:"residentBytes"`
	Goroutines     int64   `json:"goroutines"`

	// Writes counted by the API server in the window: RunWrites of BenchmarkRuns and their status, EventWrites of Events,
	// and ObjectWrites of pods, Secrets, ConfigMaps and NetworkPolicies.
	RunWrites    float64 `json:"runWrites"`
	EventWrites  float64 `json:"eventWrites"`
	ObjectWrites float64 `json:"objectWrites"`

	// Age of the live figures in a status when they were replaced.
	StatusAgeMedianSeconds float64 `json:"statusAgeMedianSeconds"`
	StatusAgeMostSeconds   float64 `json:"statusAgeMostSeconds"`

	// The CPU time of this process in the window, and the longest delay of a sample so far.
	SimulatorCPUSeconds float64 `json:"simulatorCPUSeconds"`
	SampleLateSeconds   float64 `json:"sampleLateSeconds"`
}

// writesPerRunSecond returns the writes of runs and events per run and second.
func (f *Figures) writesPerRunSecond() float64 {
	return (f.RunWrites + f.EventWrites) / float64(f.Runs) / f.WindowSeconds
}

// measure takes the measurements of one window.
func (w *world) measure(runs int, window time.Duration) Figures {
	w.Helper()
	o := w.operator.Load()
	w.mu.Lock()
	w.ages = nil
	w.mu.Unlock()
	server, used, own := w.serverMetrics(), o.use(w.T), ownCPU()
	began := time.Now()
	time.Sleep(window)
	made := Figures{Agents: w.fleet.agents.Load(), Runs: runs, WindowSeconds: time.Since(began).Seconds(),
		CPUSeconds: (o.cpu(w.T) - used.CPU).Seconds(), SimulatorCPUSeconds: (ownCPU() - own).Seconds()}
	after := w.serverMetrics()
	writes := func(labels map[string]string) (count float64) {
		for _, verb := range []string{"POST", "PUT", "PATCH", "APPLY", "DELETE"} {
			labels["verb"] = verb
			count += sum(after, "apiserver_request_total", labels) - sum(server, "apiserver_request_total", labels)
		}
		return count
	}
	made.RunWrites = writes(map[string]string{"resource": "benchmarkruns"})
	made.EventWrites = writes(map[string]string{"resource": "events"})
	for _, kind := range []string{"pods", "secrets", "configmaps", "networkpolicies"} {
		made.ObjectWrites += writes(map[string]string{"resource": kind, "subresource": ""})
	}
	w.mu.Lock()
	ages := slices.Clone(w.ages)
	w.mu.Unlock()
	if slices.Sort(ages); len(ages) > 0 {
		made.StatusAgeMedianSeconds, made.StatusAgeMostSeconds = ages[len(ages)/2].Seconds(), ages[len(ages)-1].Seconds()
	}
	made.SampleLateSeconds = w.latest().Seconds()
	then := o.use(w.T)
	made.AllocatedBytes, made.HeapBytes, made.ResidentBytes, made.Goroutines =
		then.AllocatedBytes-used.AllocatedBytes, then.HeapBytes, then.ResidentBytes, then.Goroutines
	return made
}

// latest returns the longest delay of a sample of any agent.
func (w *world) latest() (most time.Duration) {
	for _, one := range w.fleet.ledgers() {
		one.mu.Lock()
		most = max(most, one.latest)
		one.mu.Unlock()
	}
	return most
}

func (w *world) serverMetrics() []point {
	w.Helper()
	api, err := kubernetes.NewForConfig(server)
	must(w, err)
	text, err := api.RESTClient().Get().AbsPath("/metrics").DoRaw(context.Background())
	must(w, err)
	return parse(string(text))
}

// ownCPU returns the CPU time of this process, which runs the agents and the test.
func ownCPU() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err) // The arguments are valid.
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// line is a straight line fitted to measured points.
type line struct{ constant, slope float64 }

// through fits a line to a figure over the number of agents, by least squares.
func through(all []Figures, of func(Figures) float64) line {
	var n, x, y, xx, xy float64
	for _, one := range all {
		a, b := float64(one.Agents), of(one)
		n, x, y, xx, xy = n+1, x+a, y+b, xx+a*a, xy+a*b
	}
	slope := (n*xy - x*y) / (n*xx - x*x)
	return line{(y - slope*x) / n, slope}
}

const (
	kibibyte = 1 << 10
	mebibyte = 1 << 20
)

func ofCPU(f Figures) float64  { return f.CPUSeconds / f.WindowSeconds * 1e6 }
func ofHeap(f Figures) float64 { return float64(f.HeapBytes) / kibibyte }
func ofResident(f Figures) float64 {
	return float64(f.ResidentBytes) / kibibyte
}

// table formats the figures for people.
func table(all []Figures) string {
	var text strings.Builder
	fmt.Fprintln(&text, "agents  runs  CPU       heap     resident  goroutines  allocated  writes       status behind  samples late  simulator")
	fmt.Fprintln(&text, "              µs/s each MiB      MiB                   KiB/s each /s a run     median, most s most s        CPU")
	for _, f := range all {
		each := max(1, float64(f.Agents))
		fmt.Fprintf(&text, "%6d %5d  %9.0f %-8.1f %-9.1f %-11d %-10.2f %-12.3f %-4.1f %-9.1f %-13.2f %.2f\n", f.Agents, f.Runs, ofCPU(f)/each,
			float64(f.HeapBytes)/mebibyte, float64(f.ResidentBytes)/mebibyte, f.Goroutines, float64(f.AllocatedBytes)/kibibyte/f.WindowSeconds/each,
			f.writesPerRunSecond(), f.StatusAgeMedianSeconds, f.StatusAgeMostSeconds, f.SampleLateSeconds, f.SimulatorCPUSeconds/f.WindowSeconds)
	}
	if len(all) > 1 && all[0].Agents != all[len(all)-1].Agents {
		cpu, heap, resident := through(all, ofCPU), through(all, ofHeap), through(all, ofResident)
		fmt.Fprintf(&text, "an agent: %.0f µs/s, heap %.1f KiB, resident %.1f KiB; without any: %.0f µs/s, heap %.1f MiB, resident %.1f MiB\n",
			cpu.slope, heap.slope, resident.slope, cpu.constant, heap.constant/kibibyte, resident.constant/kibibyte)
	}
	return text.String()
}

// keep writes a record as JSON to bin/scale.
func keep(t *testing.T, record any) {
	t.Helper()
	file := recordFile(t, t.Name()+".json")
	text, err := json.MarshalIndent(record, "", "  ")
	must(t, err)
	must(t, os.WriteFile(file, append(text, '\n'), 0o600))
	t.Logf("the record is in %s", file)
}

// profile writes a profile of the operator, for `go tool pprof`, to bin/scale.
func (w *world) profile(kind, name string) {
	text, err := body("http://" + w.operator.Load().profiles + "/debug/pprof/" + kind)
	if err == nil {
		err = os.WriteFile(recordFile(w.T, name), []byte(text), 0o600)
	}
	if err != nil {
		w.Error(err)
	}
}

func recordFile(t *testing.T, name string) string {
	t.Helper()
	root, err := binaries.RepositoryRoot()
	must(t, err)
	folder := filepath.Join(root, "bin", "scale")
	must(t, os.MkdirAll(folder, 0o755))
	return filepath.Join(folder, name)
}
