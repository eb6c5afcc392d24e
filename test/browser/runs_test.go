package browser_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/internal/series"
	"github.com/storagebench/storagebench/test/builders"
)

// carryOut records a run from what clients report, like the operator, and returns its document. Each step starts a
// second after the previous one. reported returns a client of a step with times as if the step began at builders.Start.
func carryOut(t *testing.T, benchmark *builders.BenchmarkBuilder, reported func(step plan.Step, target string, index int) *builders.ClientBuilder) report.Document {
	t.Helper()
	spec := benchmark.Run()
	planned, problems := plan.Make(spec, 1)
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	run := record.New(record.Identity{Name: "run-3f2a91", Namespace: "default", UID: "0-1", Benchmark: v1alpha1.BenchmarkReference{Name: benchmark.Obj().Name, UID: "0-0"},
		Hash: "abc", Seed: 7}, spec, planned)
	record.Begin(run, builders.Start)
	var found []v1alpha1.Environment
	for _, target := range spec.Targets {
		found = append(found, v1alpha1.Environment{Target: target.Name, Clients: spec.Clients.Count, Engine: "fio", ToolVersion: "fio-3.33", Kernel: "6.18.5",
			Volumes: []v1alpha1.MountedVolume{{Name: "data", FileSystem: "ext4", Source: "/dev/sda1", FreeBytes: 120 << 30}}})
	}
	record.Environments(run, found)
	if len(found) == 1 {
		burst := int64(260e6)
		record.Storage(run, []v1alpha1.StorageDescription{{Target: spec.Targets[0].Name, Limits: []v1alpha1.DocumentedLimit{
			{Name: "server disk throughput", Row: "simulated/row", Layer: "Disk", Dimension: "Bytes", Baseline: 32e6, Burst: &burst}}}})
	}
	over := &series.Log{}
	at := builders.Start
	for _, step := range planned.Steps {
		at = at.Add(time.Second)
		attempt := decide.Attempt{Step: step.ID, Number: 1}
		record.Intent(run, step, decide.Action{Attempt: attempt, Start: at, Deadline: at.Add(step.Limit)})
		var clients []result.Client
		minutes := map[string][]series.Minute{}
		end := at
		for _, target := range step.Targets {
			for i := range step.Clients {
				client := reported(step, target, i).Obj()
				shift(&client, at.Sub(builders.Start))
				if i == 0 {
					minutes[target] = minutesOf(&client)
				}
				end = client.IOEnd
				clients = append(clients, client)
			}
		}
		record.Result(run, step, attempt, clients, end)
		over.Add(record.Series(run, step, attempt, clients, minutes))
		at = end
	}
	record.Finishing(run, at)
	record.Finished(run, nil, at.Add(time.Second))
	return report.NewDocument(run, "v0.1.0").With(over)
}

func shift(c *result.Client, by time.Duration) {
	builders.ShiftSamples(c, by)
	c.Released, c.IOStart, c.IOEnd = c.Released.Add(by), c.IOStart.Add(by), c.IOEnd.Add(by)
}

// minutesOf returns latencies in the form in which agents report them: a histogram per minute and operation. The
// latencies are random.
func minutesOf(c *result.Client) []series.Minute {
	random := rand.New(rand.NewPCG(3, 4))
	var all []series.Minute
	for from := c.IOStart; from.Before(c.IOEnd); from = from.Add(time.Minute) {
		to := from.Add(time.Minute)
		if to.After(c.IOEnd) {
			to = c.IOEnd
		}
		for operation := range c.Operations {
			if c.Operations[operation].Operations == 0 {
				continue
			}
			var histogram measure.Histogram
			for range 500 {
				histogram.AddNanoseconds(uint64(random.ExpFloat64()*2e6)+100_000, 40)
			}
			all = append(all, series.MinuteOf(from.UnixNano(), to.UnixNano(), measure.Operation(operation), &histogram))
		}
	}
	return all
}

// short returns a run of about a minute with two clients: a layout, a mixed phase and a ramp.
func short(t *testing.T) report.Document {
	t.Helper()
	benchmark := builders.Benchmark("bench").Target("data").Throughput("32M", "260M", "10G", "").Clients(2).Prepare("layout").Steady("mixed", "20s").
		Ramp("depth", v1alpha1.RampQueueDepth, "5s", 1, 2, 4, 8, 16)
	return carryOut(t, benchmark, func(step plan.Step, target string, index int) *builders.ClientBuilder {
		c := builders.Client(target, index)
		switch step.Phase {
		case "layout":
			return c.Does(10, measure.Write, builders.Counter(1500, 65536), 4*time.Millisecond)
		case "mixed":
			return c.Does(20, measure.Write, builders.Counter(1500, 65536), 4*time.Millisecond).Also(measure.Read, builders.Counter(3000, 65536), 2*time.Millisecond)
		}
		rate := uint64(min(400*(step.Cell+1), 1500))
		return c.Does(5, measure.Write, builders.Counter(rate, 65536), time.Duration(step.Cell+1)*time.Millisecond)
	})
}

// long returns a run of twelve hours on two targets, like that of the Lustre post. One target is flat; the other
// becomes slower after eight hours. There is noise in every digit of each second.
func long(t *testing.T) report.Document {
	t.Helper()
	benchmark := builders.Benchmark("bench").Target("none").Target("lz4").Clients(2).Steady("twelve-hours", "12h")
	return carryOut(t, benchmark, func(_ plan.Step, target string, index int) *builders.ClientBuilder {
		random := rand.New(rand.NewPCG(uint64(len(target)), uint64(index)))
		c := builders.Client(target, index)
		for second := range 12 * 3600 {
			rate := 3560e6 / 2
			if target == "lz4" {
				rate = 12460e6 / 2
				if second >= 8*3600 {
					rate = 11428e6 / 2
				}
			}
			count := uint64(rate * (1 + 0.03*random.NormFloat64()) / (1 << 20))
			c.Sample(time.Second, measure.Write, builders.Counter(count, 1<<20), 10*time.Millisecond)
		}
		return c
	})
}

// hostile returns a run in which all names and messages contain HTML.
func hostile(t *testing.T) report.Document {
	t.Helper()
	d := short(t)
	const markup = `"'></script></style></title></text></desc><img src=x onerror="window.harmed=1"><script>window.harmed=1</script>{{.}}`
	d.Benchmark, d.Run, d.Version = markup, markup, markup
	for i := range d.Environments {
		d.Environments[i].ToolVersion, d.Environments[i].Target = markup, markup
	}
	for i := range d.Spec.Steps {
		d.Spec.Steps[i].Phase = strings.ReplaceAll(d.Spec.Steps[i].Phase, "mixed", markup)
	}
	for i := range d.Phases {
		d.Phases[i].Name = strings.ReplaceAll(d.Phases[i].Name, "mixed", markup)
		for j := range d.Phases[i].Targets {
			d.Phases[i].Targets[j].Target = markup
			d.Phases[i].Targets[j].Warnings = append(d.Phases[i].Targets[j].Warnings, v1alpha1.Warning{Type: markup, Severity: v1alpha1.SeverityWarning, Message: markup})
		}
	}
	for i := range d.Series.Steps {
		for j := range d.Series.Steps[i].Targets {
			d.Series.Steps[i].Targets[j].Name = markup
		}
	}
	d.Spec.Run.Targets[0].Name = markup
	d.Storage = append(d.Storage, v1alpha1.StorageDescription{Target: markup, Notes: []string{markup},
		Limits: []v1alpha1.DocumentedLimit{{Name: markup, Dimension: "Bytes", Baseline: 150e6}}})
	return d
}
