package lab

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/test/lab"
	"github.com/storagebench/storagebench/test/soak"
)

// disks is the number of random disks of each bus. The first noBurst of them have no burst.
const disks, noBurst = 16, 3

// throttled is a disk that QEMU throttles, as defined by docs/throttle.txt and util/throttle.c of QEMU 7.2. A bucket of
// size burst × length leaks at the baseline, and requests wait while it is full. While it fills, the rate is the burst,
// but the first tenth of a second of it passes at once. With a length of 1 s, nothing limits the rate until the bucket
// is full. Rates are in bytes per second or in IOPS.
type throttled struct {
	Bus        lab.Bus
	FileSystem string
	// Volumes is the number of disks that share the throttle.
	Volumes int
	// Of is read, write or total: what the throttle counts and the workload does.
	Of string
	// If Operations is true, the throttle counts operations. Otherwise it counts bytes.
	Operations bool
	// Baseline and Burst are rates, Length is in seconds. Without a burst, Burst and Length are 0.
	Baseline, Burst, Length int64
	// Drain is the duration of the drain.
	Drain time.Duration
}

// draw returns a random disk. An emulated machine can reach its rates several times over. The Length of its burst is
// 1 to 60 s, and the drain takes 1.3 to 5 times the time to the end of the burst, plus 20 s.
func draw(random *rand.Rand, bus lab.Bus, burst bool) throttled {
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	d := throttled{
		Bus: bus, FileSystem: one("ext4", "xfs", "btrfs"), Volumes: 1 + random.IntN(2),
		Of: one("read", "write", "total"), Operations: random.IntN(3) == 0,
	}
	uniform := func(from, to float64) float64 { return from + (to-from)*random.Float64() }
	d.Baseline = int64(uniform(4e6, 16e6))
	if d.Operations {
		d.Baseline = int64(uniform(80, 250))
	}
	d.Drain = 40 * time.Second
	if burst {
		d.Burst = int64(float64(d.Baseline) * uniform(2.5, 8))
		d.Length = int64(math.Round(math.Exp(uniform(math.Log(1), math.Log(60)))))
		d.Drain = time.Duration(d.end()*uniform(1.3, 5)+20) * time.Second
	}
	return d
}

// credits returns the size of the bucket in units.
func (d throttled) credits() float64 {
	if d.Burst == 0 {
		return float64(d.Baseline) / 10
	}
	return float64(d.Burst * d.Length)
}

// end returns the end of the burst in seconds after the start of the drain.
func (d throttled) end() float64 {
	if d.Length < 2 {
		return 0
	}
	return (d.credits() - float64(d.Burst)/10) / float64(d.Burst-d.Baseline)
}

// work returns how many units the throttle lets through in a number of seconds from the start of a drain.
func (d throttled) work(seconds float64) float64 {
	most := d.credits() + float64(d.Baseline)*seconds
	if d.Length < 2 {
		return most
	}
	return min(most, float64(d.Burst)*(seconds+0.1))
}

// blockBytes returns a large block size for a throttle that counts bytes, and the smallest one for a throttle that
// counts operations.
func (d throttled) blockBytes() int64 {
	if d.Operations {
		return 4096
	}
	return 256 << 10
}

// idle returns how long the bucket needs to leak what mkfs and the layout of 64 MiB wrote.
func (d throttled) idle() time.Duration {
	if d.Operations {
		return 15 * time.Second
	}
	return time.Duration(min(d.credits(), 100<<20)/float64(d.Baseline)+2) * time.Second
}

// machine returns a machine with disks for the run, and as many disks with a separate throttle for bare fio.
func (d throttled) machine() lab.Machine {
	unit := map[bool]string{false: "bps", true: "iops"}[d.Operations] + "-" + d.Of
	throttling := map[string]int64{unit: d.Baseline}
	if d.Burst != 0 {
		throttling[unit+"-max"], throttling[unit+"-max-length"] = d.Burst, d.Length
	}
	var machine lab.Machine
	for _, group := range []string{"run", "bare"} {
		for range d.Volumes {
			machine.Disks = append(machine.Disks, lab.Disk{Bytes: 2 << 30, Bus: d.Bus, Throttling: throttling, Group: group})
		}
	}
	return machine
}

// benchmark returns a benchmark that lays out 64 MiB, waits until the bucket is empty, and drains the credits.
func (d throttled) benchmark() string {
	var volumes []string
	for i := range d.Volumes {
		volumes = append(volumes, fmt.Sprintf("{name: v%d, claimName: v%d}", i, i))
	}
	return fmt.Sprintf(`apiVersion: storagebench.dev/v1alpha1
kind: StorageBenchmark
metadata: {name: disk}
spec:
  run:
    targets:
    - {name: data, volumes: [%[1]s]}
    clients: {count: 1}
    workload:
      fio: {pattern: Random, readPercent: %[2]d, blockSize: %[3]d, jobs: 2, queueDepth: 8, datasetSize: 64Mi}
    phases:
    - {name: layout, prepare: {}}
    - {name: idle, cooldown: {duration: %[4]s}}
    - {name: drain, burstDrain: {minDuration: %[5]s, maxDuration: %[5]s}}
`, strings.Join(volumes, ", "), d.readPercent(), d.blockBytes(), d.idle(), d.Drain)
}

func (d throttled) readPercent() int {
	return map[string]int{"read": 100, "write": 0, "total": 50}[d.Of]
}

// script makes the file systems, and then runs the benchmark and, at the same time, bare fio on the other disks.
func (d throttled) script(m lab.Machine) string {
	var s strings.Builder
	options := map[string]string{"ext4": "-q -E lazy_itable_init=0,lazy_journal_init=0", "xfs": "-q", "btrfs": "-q"}[d.FileSystem]
	for i := range m.Disks {
		fmt.Fprintf(&s, "modprobe %[1]s 2>/dev/null; mkdir /mnt/%[2]d; mkfs.%[1]s %[3]s %[4]s > /dev/null && mount -t %[1]s %[4]s /mnt/%[2]d || exit 9\n",
			d.FileSystem, i, options, lab.Path(i))
	}
	if d.Operations {
		// btrfs writes random blocks to adjacent places. The kernel must not merge them, because QEMU counts a merged
		// operation once.
		s.WriteString("for disk in /sys/block/*/queue/nomerges; do echo 2 > $disk; done\n")
	}
	var directories, files []string
	counters := ""
	for i := range d.Volumes {
		directories = append(directories, fmt.Sprintf("/mnt/%d", i))
		counters += fmt.Sprintf(" /sys/class/block/$(basename $(readlink -f %s))/stat", lab.Path(i))
		files = append(files, fmt.Sprintf("/mnt/%d/bare", d.Volumes+i))
	}
	kind := map[string]string{"read": "randread", "write": "randwrite", "total": "randrw"}[d.Of]
	bare := fmt.Sprintf("fio --name=bare --filename=%s --ioengine=libaio --direct=1 --iodepth=8 --numjobs=2 --group_reporting=1", strings.Join(files, ":"))
	size := strconv.Itoa((64 << 20) / d.Volumes)
	fmt.Fprintf(&s, `sync
(for file in %s; do fio --name=layout --filename=$file --direct=1 --rw=write --bs=1M --size=%s > /dev/null; done; sync; sleep %d
%s --size=64m --rw=%s --bs=%d --time_based=1 --runtime=%d --output-format=json --write_%s_log=bare --log_avg_msec=%d --per_job_logs=0 > bare.json) &
bare=$!
(while :; do
  read at rest < /proc/uptime
  for disk in%s; do read reads x read x writes x written x < $disk && echo "$at $reads $read $writes $written"; done
  sleep 0.2
done > counters) &
counting=$!
kubectl-storagebench run --local -f /lab/bench.yaml --target data=%s -o json > result.json 2> said
code=$?; kill $counting; wait $bare; tail -n 40 said; echo LAB-RESULT; cat result.json; echo LAB-RESULT; cat bare.json; echo LAB-RESULT
cat bare_%s.log; echo LAB-RESULT; cat counters; exit $code
`, strings.Join(files, " "), size, int(d.idle().Seconds()), bare, kind, d.blockBytes(), int(d.Drain.Seconds()), d.rates(), logInterval.Milliseconds(),
		counters, strings.Join(directories, ","), d.rates())
	return s.String()
}

// logInterval is the interval of bare fio's log.
const logInterval = 500 * time.Millisecond

// rates returns the name of fio's log of the rates that the throttle limits.
func (d throttled) rates() string {
	return map[bool]string{false: "bw", true: "iops"}[d.Operations]
}

// units returns what the throttle counts: the bytes or the operations.
func (d throttled) units(bytes, operations int64) float64 {
	if d.Operations {
		return float64(operations)
	}
	return float64(bytes)
}

// TestVirtioDisks, TestSCSIDisks and TestNVMeDisks drain random disks that QEMU throttles. Burst, baseline, end of the
// burst and credits must be within 2 % of the throttle's definition, regardless of the length of the drain. No drop may
// be found on a disk without a burst. Each disk is compared with bare fio on the same machine and with the counters of
// the machine's kernel and of QEMU.
func TestVirtioDisks(t *testing.T) { randomDisks(t, lab.Virtio, 0) }
func TestSCSIDisks(t *testing.T)   { randomDisks(t, lab.SCSI, disks) }
func TestNVMeDisks(t *testing.T)   { randomDisks(t, lab.NVMe, 2*disks) }

func randomDisks(t *testing.T, bus lab.Bus, first int) {
	t.Helper()
	seed := soak.Seed(t)
	program := commandLine(t)
	chosen := os.Getenv("LAB_DISKS")
	for i := range disks {
		number := first + i
		d := draw(rand.New(rand.NewPCG(seed, uint64(number))), bus, i >= noBurst) // #nosec G115 G404 -- a small number; a test
		t.Run(fmt.Sprintf("%02d", number), func(t *testing.T) {
			if chosen != "" && !slices.Contains(strings.Split(chosen, ","), strconv.Itoa(number)) {
				t.Skip("not in LAB_DISKS")
			}
			d.try(t, program)
		})
	}
	if chosen != "" {
		t.Skip("only the disks of LAB_DISKS were tried") // The record must not count this as a pass.
	}
}

// try measures the disk. It tries again if bare fio or the kernel's counters show that the machine was too slow for the
// burst.
func (d throttled) try(t *testing.T, program string) {
	t.Helper()
	const tries, leastReached = 3, 0.98
	for range tries {
		line, reached, wrong := d.measure(t, program)
		if len(wrong) == 0 {
			soak.Report(t, "disk", "%s", line)
			return
		}
		if reached >= leastReached {
			t.Fatalf("%+v: %s\n%s", d, strings.Join(wrong, "; "), line)
		}
		t.Logf("the machine reached only %.3f of the burst, so again: %s", reached, strings.Join(wrong, "; "))
	}
	soak.Inconclusive(t, "the machine is too slow for the burst of %+v", d)
}

// measure measures the disk once. It returns a line for the record, the share of the burst that the machine reached,
// and a list of errors. The share is that of bare fio or of the run by the kernel's counters, whichever is less.
func (d throttled) measure(t *testing.T, program string) (line string, reached float64, wrong []string) {
	t.Helper()
	machine := d.machine()
	machine.Programs, machine.Files = map[string]string{"kubectl-storagebench": program}, map[string]string{"bench.yaml": d.benchmark()}
	output := machine.Run(t, d.script(machine))
	said, rest, _ := strings.Cut(output.Text, "LAB-RESULT\n")
	made, rest, _ := strings.Cut(rest, "LAB-RESULT\n")
	bareText, rest, _ := strings.Cut(rest, "LAB-RESULT\n")
	bareLog, counters, _ := strings.Cut(rest, "LAB-RESULT\n")
	run, err := report.Read(strings.NewReader(made))
	if err != nil || len(run.Phases) == 0 {
		t.Fatalf("%+v: exit code %d, no result (%v): %s", d, output.Code, err, said)
	}
	phase := run.Phases[len(run.Phases)-1]
	target := phase.Targets[0]
	if target.Burst == nil {
		t.Fatalf("%+v: no drain: %+v\n%s", d, phase, said)
	}
	// Compare the totals of the run, of bare fio, of the machine's kernel and of QEMU.
	var bytes, operations int64
	for _, one := range target.Operations {
		bytes, operations = bytes+one.Bytes, operations+one.Operations
	}
	window := time.Duration(target.WindowNanoseconds).Seconds()
	bareBytes, bareOperations, bareSeconds := bareTotals(t, bareText)
	wrong = append(outside(fmt.Sprintf("all that was done in %.1f s", window), d.units(bytes, operations), d.work(window), d.slack()),
		outside(fmt.Sprintf("all that bare fio did in %.1f s", bareSeconds), d.units(bareBytes, bareOperations), d.work(bareSeconds), d.slack())...)
	for i := range output.Guest {
		// The firmware reads the first sector of some disks. Only QEMU counts these reads.
		if guest, host := output.Guest[i], output.Host[i]; guest.WriteBytes != host.WriteBytes || host.ReadBytes-guest.ReadBytes > 512 || host.ReadBytes < guest.ReadBytes {
			wrong = append(wrong, fmt.Sprintf("disk %d: its kernel counted %+v, QEMU %+v", i, guest, host))
		}
	}
	wrong = append(wrong, d.compareBurst(t, target)...)
	return d.line(target, d.units(bytes, operations)/d.work(window), d.units(bareBytes, bareOperations)/d.work(bareSeconds)), min(d.reached(t, bareLog), d.counted(t, counters)), wrong
}

// counted returns the work that the kernel counted on the run's disks until the end of the burst, as a share of what
// the throttle lets through. The run and bare fio share the machine, so it can be too slow for the run but not for bare
// fio. The text has a line for each disk and instant: the time in seconds, and the completed reads, read sectors,
// completed writes and written sectors.
func (d throttled) counted(t *testing.T, text string) float64 {
	t.Helper()
	if d.end() == 0 {
		return 1
	}
	type point struct{ at, work float64 }
	var points []point
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) != 5 {
			break // The last line is incomplete.
		}
		at, work := number(t, fields[0]), 0.0
		for i, of := range []string{"read", "write"} {
			if d.Of == of || d.Of == "total" {
				work += d.units(int64(number(t, fields[2+2*i]))*512, int64(number(t, fields[1+2*i])))
			}
		}
		if len(points) == 0 || points[len(points)-1].at != at {
			points = append(points, point{at: at})
		}
		points[len(points)-1].work += work
	}
	// The drain is the last load. In the seconds before it, only the file system itself writes.
	idle := func(i int) bool {
		before, after := points[i-1], points[i]
		return after.work-before.work < 0.2*float64(d.Baseline)*(after.at-before.at)
	}
	last := len(points) - 1
	for last > 0 && idle(last) {
		last--
	}
	first, quiet := last, 0.0
	for i := last; i > 0 && quiet < 1; i-- {
		if idle(i) {
			quiet += points[i].at - points[i-1].at
		} else {
			first, quiet = i, 0
		}
	}
	if first == 0 || last <= first {
		t.Fatalf("the kernel's counters have no drain: %s", text)
	}
	began := points[first-1]
	start := max(began.at, points[first].at-(points[first].work-began.work)/float64(max(d.Burst, d.Baseline)))
	for i := first; i <= last; i++ {
		if left := points[i].at - start - d.end(); left >= 0 {
			step := points[i].at - points[i-1].at
			return (points[i].work - began.work - (points[i].work-points[i-1].work)*left/step) / d.work(d.end())
		}
	}
	t.Fatalf("the drain ended before the burst: %s", text)
	return 0
}

// reached returns the work of bare fio until the end of the burst, as a share of what the throttle lets through. A
// share below 1 shows that the emulated machine is too slow. The log has a line for each interval, job and direction.
func (d throttled) reached(t *testing.T, log string) float64 {
	t.Helper()
	if d.end() <= logInterval.Seconds() {
		return 1
	}
	type stream struct {
		job       int
		direction string
	}
	ends := map[stream]float64{}
	job, before, work := 0, 0.0, 0.0
	for line := range strings.Lines(log) {
		fields := strings.Split(line, ", ")
		if len(fields) < 3 {
			break // the end of the log
		}
		at := number(t, fields[0]) / 1000
		if at < before {
			job++ // The log of the next job begins.
		}
		before = at
		if of := (stream{job, fields[2]}); at <= d.end() {
			work += number(t, fields[1]) * (at - ends[of])
			ends[of] = at
		}
	}
	if !d.Operations {
		work *= 1024 // fio logs KiB/s
	}
	covered := 0.0
	for _, end := range ends {
		covered += end / float64(len(ends))
	}
	if covered == 0 {
		t.Fatalf("bare fio's log has no burst: %s", log)
	}
	return work / d.work(covered)
}

// slack returns the operations that may be in flight, in units.
func (d throttled) slack() float64 { return d.units(16*d.blockBytes(), 16) }

// compareBurst compares the figures of the drain with the definition of the throttle.
func (d throttled) compareBurst(t *testing.T, target v1alpha1.TargetResult) (wrong []string) {
	t.Helper()
	found, scale := target.Burst.Bytes, 1.0
	if d.Operations {
		found, scale = target.Burst.Operations, 1000
	}
	switch {
	case found == nil || found.Burst == nil:
		t.Fatalf("%+v: no figures: %+v", d, target.Burst)
	case d.Burst == 0:
		if target.Burst.Exhausted || len(found.Drops) > 0 {
			wrong = append(wrong, fmt.Sprintf("a false drop: %+v", found.Drops))
		}
		return append(wrong, outside("level", float64(found.Burst.Value)/scale, float64(d.Baseline), 0)...)
	case d.Length < 2 && !target.Burst.Exhausted:
		return d.compareFastStart(t, target)
	case !target.Burst.Exhausted || len(found.Drops) != 1 || found.Baseline == nil || found.Drops[0].Spent == nil:
		return []string{fmt.Sprintf("the credits ran out once, at %.1f s, but the result is %+v, warnings %+v", d.end(), target.Burst, target.Warnings)}
	}
	wrong = append(outside("baseline", float64(found.Baseline.Value)/scale, float64(d.Baseline), 0),
		outside("credits", float64(found.Drops[0].Spent.Value), d.credits(), d.slack())...)
	if d.Length >= 2 {
		// The tenth of a second that passes at once raises the mean rate of a short burst.
		wrong = append(wrong, outside("burst", float64(found.Burst.Value)/scale, float64(d.Burst), d.work(d.end())/d.end()-float64(d.Burst))...)
		wrong = append(wrong, outside("seconds to the baseline", time.Duration(target.Burst.NanosecondsToBaseline.Value).Seconds(), d.end(), 0.1)...)
	}
	return wrong
}

var fastStart = regexp.MustCompile(`the first ([0-9.]+) s averaged [^ ]+ [^ ]+ and the rest ([0-9.]+) ([kM])B/s: a spike, or a burst`)

// compareFastStart checks the figures of a burst whose rate only the machine limits. It can end within one or two
// samples. The result must then state that it may be a burst or a spike, and show the baseline.
func (d throttled) compareFastStart(t *testing.T, target v1alpha1.TargetResult) (wrong []string) {
	t.Helper()
	shown := fastStart.FindStringSubmatch(target.Burst.Message)
	if shown == nil {
		t.Fatalf("%+v: neither a drop nor a doubt: %+v, warnings %+v", d, target.Burst, target.Warnings)
	}
	seconds, rest := number(t, shown[1]), number(t, shown[2])*map[string]float64{"k": 1e3, "M": 1e6}[shown[3]]
	if seconds >= 3 {
		wrong = append(wrong, fmt.Sprintf("%.3g s are three samples, but no drop was found", seconds))
	}
	return append(wrong, outside("baseline", d.units(int64(rest), int64(rest)/d.blockBytes()), float64(d.Baseline), 0)...)
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// line describes the disk and its figures for the record of the soak.
func (d throttled) line(target v1alpha1.TargetResult, work, bare float64) string {
	found, scale := target.Burst.Bytes, 1e6
	if d.Operations {
		found, scale = target.Burst.Operations, 1e3
	}
	unit := map[bool]string{false: "MB/s", true: "IOPS"}[d.Operations]
	truth := func(rate int64) float64 {
		if d.Operations {
			return float64(rate)
		}
		return float64(rate) / 1e6
	}
	text := fmt.Sprintf("%s, %s, %d volumes, %s, %v: ", d.Bus, d.FileSystem, d.Volumes, d.Of, d.Drain)
	if d.Burst == 0 {
		return text + fmt.Sprintf("no burst, level %.2f %s, found %.2f; all work %.4f of the rule's, bare fio's %.4f",
			truth(d.Baseline), unit, float64(found.Burst.Value)/scale, work, bare)
	}
	if !target.Burst.Exhausted || len(found.Drops) != 1 {
		return text + fmt.Sprintf("credits %.0f, baseline %.2f %s; found: %s; all work %.4f of the rule's, bare fio's %.4f",
			d.credits(), truth(d.Baseline), unit, target.Burst.Message, work, bare)
	}
	return text + fmt.Sprintf("burst %.2f, baseline %.2f %s, end %.1f s, credits %.0f; found %.2f, %.2f, %.1f s, %d; all work %.4f of the rule's, bare fio's %.4f",
		truth(d.Burst), truth(d.Baseline), unit, d.end(), d.credits(), float64(found.Burst.Value)/scale, float64(found.Baseline.Value)/scale,
		time.Duration(target.Burst.NanosecondsToBaseline.Value).Seconds(), found.Drops[0].Spent.Value, work, bare)
}

// outside returns an error message if got differs from want by more than 2 % plus more.
func outside(what string, got, want, more float64) []string {
	if math.Abs(got-want) > 0.02*want+more {
		return []string{fmt.Sprintf("%s: %.4g, want %.4g (%+.1f %%)", what, got, want, 100*(got/want-1))}
	}
	return nil
}

// bareTotals returns the bytes, operations and seconds that fio reports.
func bareTotals(t *testing.T, text string) (bytes, operations int64, seconds float64) {
	t.Helper()
	type side struct {
		Bytes      int64 `json:"io_bytes"`
		Operations int64 `json:"total_ios"`
	}
	var report struct {
		Jobs []struct {
			Read, Write side
			Runtime     int64 `json:"job_runtime"` // of both jobs, in milliseconds
		}
	}
	_, text, _ = strings.Cut(text, "{")
	if err := json.Unmarshal([]byte("{"+text), &report); err != nil || len(report.Jobs) != 1 {
		t.Fatalf("bare fio's report: %v\n%s", err, text)
	}
	job := report.Jobs[0]
	return job.Read.Bytes + job.Write.Bytes, job.Read.Operations + job.Write.Operations, float64(job.Runtime) / 2 / 1000
}
