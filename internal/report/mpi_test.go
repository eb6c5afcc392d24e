package report_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/test/builders"
)

// overMPI returns a benchmark that lays out data with IOR, writes for a fixed time, reads in a ramp, and ends with
// mdtest.
func overMPI() *builders.BenchmarkBuilder {
	return builders.Benchmark("usual").Target("lz4").Target("none").Clients(2).Processes(4).Load(builders.IOR().Direct().Engine()).
		Prepare("layout").Steady("write", "30s").WithLoad(builders.IOR().Direct().Overwrites().Mutate(func(p *v1alpha1.IORProfile) { p.DataPattern = "Random" }).Engine()).
		Ramp("ranks", v1alpha1.RampProcesses, "10s", 1, 2, 4).WithLoad(builders.IOR().Reads().Engine()).
		Steady("metadata", "10m").WithLoad(builders.Mdtest())
}

// ranks returns the reports of the clients on each target.
func ranks(step plan.Step) []result.Client {
	var all []result.Client
	for _, target := range step.Targets {
		for index := range step.Clients {
			client := builders.Client(target, index)
			each := builders.Counter(uint64(90+index), 1<<20) // #nosec G115 -- positive
			if target == "lz4" {
				each = builders.Counter(uint64(190+index), 1<<20) // #nosec G115 -- positive
			}
			second := 2*each.Bytes + 1<<20 - uint64(2*index)<<20 // #nosec G115 -- positive
			switch step.Phase {
			case "layout":
				client.Rank(9, measure.Write, each)
				if index == 0 {
					client.IORJob(8, 2, measure.Write, 1, 10*time.Second, 9*second)
				}
			case "write":
				client.Rank(30, measure.Write, each)
				if index == 0 {
					client.IORJob(8, 2, measure.Write, 15, 2*time.Second, 2*second)
				}
			case "ranks":
				each = builders.Counter(uint64(step.Processes)*40, 1<<20) // #nosec G115 -- positive
				client.Rank(10, measure.Read, each)
				if index == 0 {
					client.IORJob(2*step.Processes, 2, measure.Read, 1, 10*time.Second, 20*each.Bytes)
				}
			case "metadata":
				if target == "lz4" { // on the other target, the files are empty
					client.Rank(3, measure.Write, builders.Counter(100, 4096))
				}
				if index == 0 {
					client.MdtestJob(8, 2)
				}
			}
			all = append(all, client.Obj())
		}
	}
	return all
}

func init() {
	maps.Copy(documents, map[string]paper{
		"mpi": play(overMPI(), ranks, finished()),
		// A client fails during a step. What it has reported before must remain.
		"mpi-cut-short": play(builders.Benchmark("usual").Target("data").Clients(2).Processes(2).Load(builders.IOR().Direct().Engine()).Steady("write", "30s"),
			func(plan.Step) []result.Client {
				return []result.Client{
					builders.Client("data", 0).Rank(12, measure.Write, builders.Counter(100, 1<<20)).IORJob(4, 2, measure.Write, 2, 5*time.Second, 1000<<20).
						Failed("NoSpace", "IOR: the volume is full (write(12, 0x7f, 1048576) failed, No space left on device)").Obj(),
					builders.Client("data", 1).Rank(12, measure.Write, builders.Counter(100, 1<<20)).Stopped("client data/0 failed").Obj(),
				}
			}, fails("NoSpace", "step 00-write: client data/0: IOR: the volume is full"), finished()),
	})
}

// TestJobsInJSON checks that the JSON document contains at least what the text shows.
func TestJobsInJSON(t *testing.T) {
	var written bytes.Buffer
	if err := report.JSON(&written, documents["mpi"].document(t)); err != nil {
		t.Fatal(err)
	}
	var read struct {
		Phases []struct {
			Name    string
			Targets []struct {
				IOR    *v1alpha1.IORResult
				Mdtest *v1alpha1.MdtestResult
			}
		}
	}
	if err := json.Unmarshal(written.Bytes(), &read); err != nil {
		t.Fatal(err)
	}
	if got := read.Phases[1].Targets[0].IOR; got == nil || len(got.Operations[0].Repetitions) != 15 || got.DataPattern != "Random" || got.CommandLine[0] != "ior" {
		t.Errorf("write: %+v", got)
	}
	if got := read.Phases[3].Targets[1].Mdtest; got == nil || len(got.Rates) != 3 {
		t.Errorf("metadata: %+v", got)
	}
	if strings.Contains(written.String(), `"latency"`) {
		t.Error("it has latencies, and nothing was timed")
	}
}
