package performance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/engine/fio"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/test/ratio"
	"github.com/storagebench/storagebench/test/soak"
)

const (
	// Each variant runs at least leastRounds and at most mostRounds times. The test ends when the ratio of throughput and
	// the ratio of its control are known to ±wantedHalfWidth. This depends only on the precision of the ratios, not on
	// their values.
	leastRounds, mostRounds = 20, 60
	wantedHalfWidth         = 0.005
	// runtime is the measured time of a run. It is long enough for periodic dumps of fio.
	runtime = 2 * time.Second
	// size fits into a CPU's own cache, which other processes cannot slow down. Operations then take the least time, and
	// the agent's cost is the largest share of it.
	size = "1m"
	// cpu is the CPU that fio is pinned to.
	cpu = 1
	// wantedRatio is the minimum ratio of throughput before the half-width of the control is subtracted.
	wantedRatio = 0.995
)

// load is a load that maximizes the agent's relative overhead: small operations that take almost no time.
type load struct {
	name, engine, pattern string
	operation             measure.Operation
}

// outcome holds the figures of one run of fio, and the resources that it used.
type outcome struct {
	operations uint64
	p99        time.Duration
	// cpu is the CPU time of all processes, and memory the largest resident size of any process.
	cpu    time.Duration
	memory int64
}

// variant is a way to run a load.
type variant struct {
	name string
	run  func(context.Context) (outcome, error)
}

// The variants. From percentiles to dumps, each adds an option to the previous one, starting with plain fio.
const (
	plain       = "fio command line"
	plainAgain  = "fio command line, again"
	percentiles = "with --lat_percentiles=1, the second histogram"
	bins        = "and --output-format=json+, the bins"
	dumps       = "and --status-interval=1s, the dumps"
	sameJob     = "bare fio with the agent's job"
	sameAgain   = "bare fio with the agent's job, again"
	viaAgent    = "agent"
)

// TestOverhead compares fio that an agent runs with bare fio: with the same job, and with a plain command line. As a
// control, it also compares each of the two with itself. The variants take turns, so that slow changes of the machine's
// speed affect all of them.
func TestOverhead(t *testing.T) {
	for _, l := range []load{
		{"null engine, 4 KiB random writes", "null", "randwrite", measure.Write},
		{"tmpfs, 4 KiB random reads, psync", "psync", "randread", measure.Read},
	} {
		t.Run(l.engine, func(t *testing.T) {
			b := newBench(t, l)
			variants := b.variants()
			all := map[string][]outcome{}
			for round := 0; round < leastRounds || round < mostRounds && !precise(all); round++ {
				for i := range variants {
					one := variants[(i+round)%len(variants)]
					got, err := one.run(t.Context())
					if err != nil {
						t.Fatalf("%s: %v", one.name, err)
					}
					all[one.name] = append(all[one.name], got)
				}
			}
			report(t, l, all)
		})
	}
}

// report compares the variants, and judges the throughput of fio that the agent runs.
func report(t *testing.T, l load, all map[string][]outcome) {
	t.Helper()
	throughput := func(a, b string) ratio.Interval { return ratioOf(all[a], all[b], operationsOf) }
	noise, plainNoise := throughput(sameJob, sameAgain), throughput(plain, plainAgain)
	bound := wantedRatio - noise.HalfWidth()
	cost := throughput(viaAgent, sameJob)
	perSecond := func(name string) string {
		return fmt.Sprintf("%.0f IOPS", medianOf(all[name], operationsOf)/runtime.Seconds())
	}
	title := func(what string) string { return l.name + ": " + what }
	soak.Compare(t, title("throughput through an agent, same job"), soak.Row{
		Ours: perSecond(viaAgent) + ", ratio " + cost.String(), Versus: sameJob, Control: perSecond(sameJob) + ", with itself " + noise.String(),
		Bound: fmt.Sprintf("lower end above %.4f", bound), Met: cost.Lower > bound,
	})
	soak.Compare(t, title("throughput through an agent, plain fio"), soak.Row{
		Ours: perSecond(viaAgent) + ", ratio " + throughput(viaAgent, plain).String(), Versus: plain,
		Control: perSecond(plain) + ", with itself " + plainNoise.String(),
	})
	before := plain
	for _, name := range []string{percentiles, bins, dumps} {
		soak.Compare(t, title("of that, "+name), soak.Row{Ours: "ratio " + throughput(name, before).String(), Versus: "the variant before"})
		before = name
	}
	for _, one := range []struct {
		what, unit string
		of         func(outcome) float64
	}{
		{"99th percentile", "ns", func(o outcome) float64 { return float64(o.p99) }},
		{"CPU time per operation", "ns", func(o outcome) float64 { return float64(o.cpu) / float64(o.operations) }},
		{"largest resident process", "MiB", func(o outcome) float64 { return float64(o.memory) / (1 << 20) }},
	} {
		soak.Compare(t, title(one.what), soak.Row{
			Ours:   fmt.Sprintf("%.1f %s, ratio %s", medianOf(all[viaAgent], one.of), one.unit, ratioOf(all[viaAgent], all[sameJob], one.of)),
			Versus: sameJob, Control: fmt.Sprintf("%.1f %s, with itself %s", medianOf(all[sameJob], one.of), one.unit,
				ratioOf(all[sameJob], all[sameAgain], one.of)),
		})
	}
	switch {
	case cost.Lower > bound:
	case !precise(all):
		soak.Inconclusive(t, "%s: the ratio is known to ±%.2f %% only, and its control to ±%.2f %%", l.name, cost.HalfWidth()*100, noise.HalfWidth()*100)
	default:
		t.Errorf("%s: the lower end of agent/bare, %s, is not above %.4f", l.name, cost, bound)
	}
}

// precise reports whether the ratio of throughput and its control are known well enough for a verdict.
func precise(all map[string][]outcome) bool {
	cost, noise := ratioOf(all[viaAgent], all[sameJob], operationsOf), ratioOf(all[sameJob], all[sameAgain], operationsOf)
	return max(cost.HalfWidth(), noise.HalfWidth()) <= wantedHalfWidth
}

func operationsOf(o outcome) float64 { return float64(o.operations) }

// ratioOf compares two variants round by round.
func ratioOf(a, b []outcome, of func(outcome) float64) ratio.Interval {
	ratios := make([]float64, len(a))
	for i := range a {
		ratios[i] = of(a[i]) / of(b[i])
	}
	return ratio.Of(ratios)
}

func medianOf(all []outcome, of func(outcome) float64) float64 {
	values := make([]float64, len(all))
	for i := range all {
		values[i] = of(all[i])
	}
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

// variants returns all ways to run the load.
func (b *bench) variants() []variant {
	// The clock source is set explicitly. Otherwise, fio chooses one of two when it starts, depending on a race between
	// its CPUs, and one can be a quarter slower than the other.
	options := []string{
		"--name=job", "--ioengine=" + b.load.engine, "--rw=" + b.load.pattern, "--bs=4k", "--size=" + size, "--time_based=1",
		fmt.Sprintf("--runtime=%dms", runtime.Milliseconds()), fmt.Sprintf("--cpus_allowed=%d", cpu), "--clocksource=cpu", "--randseed=1",
		"--filename_format=data.$jobnum.$filenum",
	}
	line := func(name string, more ...string) variant {
		return variant{name, func(ctx context.Context) (outcome, error) {
			return b.bare(ctx, "", slices.Concat(options, more)...)
		}}
	}
	job := func(name string) variant {
		return variant{name, func(ctx context.Context) (outcome, error) { return b.bare(ctx, b.job, fio.Arguments(0)...) }}
	}
	const second, binned = "--lat_percentiles=1", "--output-format=json+"
	return []variant{
		line(plain, "--output-format=json"), line(plainAgain, "--output-format=json"),
		line(percentiles, second, "--output-format=json"), line(bins, second, binned), line(dumps, second, binned, "--status-interval=1s"),
		job(sameJob), job(sameAgain), {viaAgent, b.throughAgent},
	}
}

// bare runs fio with a job on its standard input, or with arguments only.
func (b *bench) bare(ctx context.Context, job string, arguments ...string) (outcome, error) {
	command := exec.CommandContext(ctx, "fio", arguments...)
	command.Dir, command.Stdin = b.folder, strings.NewReader(job)
	stdout, err := command.Output()
	if err != nil {
		return outcome{}, fmt.Errorf("bare fio: %w", err)
	}
	var last struct {
		Jobs []map[string]json.RawMessage `json:"jobs"`
	}
	for decoder := json.NewDecoder(strings.NewReader(string(stdout))); decoder.More(); {
		if err := decoder.Decode(&last); err != nil {
			return outcome{}, fmt.Errorf("read the output of bare fio: %w", err)
		}
	}
	var total struct {
		Operations uint64 `json:"total_ios"`
		Completion struct {
			Percentile map[string]float64 `json:"percentile"`
		} `json:"clat_ns"`
	}
	name := map[measure.Operation]string{measure.Read: "read", measure.Write: "write"}[b.load.operation]
	if len(last.Jobs) != 1 {
		return outcome{}, fmt.Errorf("bare fio reports %d jobs", len(last.Jobs))
	}
	if err := json.Unmarshal(last.Jobs[0][name], &total); err != nil || total.Operations == 0 {
		return outcome{}, fmt.Errorf("bare fio reports no operations: %w", err)
	}
	state := command.ProcessState
	used, _ := state.SysUsage().(*syscall.Rusage)
	return outcome{operations: total.Operations, p99: time.Duration(total.Completion.Percentile["99.000000"]),
		cpu: state.UserTime() + state.SystemTime(), memory: used.Maxrss << 10}, nil
}

// usage returns the CPU time of a process, including the children that it has waited for, and its largest resident
// size.
func usage(pid int) (used time.Duration, memory int64, err error) {
	folder := filepath.Join("/proc", strconv.Itoa(pid))
	stat, err := os.ReadFile(filepath.Join(folder, "stat"))
	if err != nil {
		return 0, 0, err
	}
	// The second field, the name in parentheses, may contain spaces. The fields utime to cstime, 14 to 17, are in
	// hundredths of a second; see proc_pid_stat(5).
	_, after, _ := strings.Cut(string(stat), ") ")
	for _, field := range strings.Fields(after)[11:15] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, 0, err
		}
		used += time.Duration(ticks) * 10 * time.Millisecond
	}
	status, err := os.ReadFile(filepath.Join(folder, "status"))
	if err != nil {
		return 0, 0, err
	}
	_, after, _ = strings.Cut(string(status), "VmHWM:")
	kibibytes, err := strconv.ParseInt(strings.Fields(after)[0], 10, 64)
	return used, kibibytes << 10, err
}

// childWith returns the child of this process whose command line contains a word.
func childWith(word string) (int, error) {
	processes, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	found := map[int]bool{}
	for _, path := range processes {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // The process has ended.
		}
		_, after, _ := strings.Cut(string(stat), ") ")
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		if fields := strings.Fields(after); len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid()) && strings.Contains(string(line), word) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			found[pid] = true
		}
	}
	if len(found) != 1 {
		return 0, fmt.Errorf("%d children with %q in their command lines", len(found), word)
	}
	return slices.Collect(maps.Keys(found))[0], nil
}
