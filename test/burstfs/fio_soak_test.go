package burstfs_test

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/test/burstfs"
	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/soak"
)

// experiment is a fio run on a fresh store.
type experiment struct {
	completions []completion
	store       *burstfs.Mounted
}

// ended returns the time, on the store's clock, at which the store became idle. In its last second with requests, it
// was busy from the start of the second.
func (e experiment) ended() float64 {
	end := 0.0
	for _, s := range e.store.Truth() {
		if s.Busy > 0 {
			end = float64(s.Index) + s.Busy
		}
	}
	return end
}

// idle returns the share of the runtime in which the store had no requests.
func (e experiment) idle(runtime time.Duration) float64 {
	idle, seconds := 0.0, int(runtime.Seconds())
	began := false
	for _, s := range e.store.Truth() {
		if !began { // fio starts within this second, so it may be partly idle
			began = s.InFlight > 0
			continue
		}
		if seconds--; seconds <= 0 {
			break
		}
		idle += 1 - s.Busy
	}
	return idle / runtime.Seconds()
}

// stood returns by how many seconds fio's longest wait for an answer exceeds the longest that the model predicts. If
// requests are in flight all the time, the cause is a machine that stalled.
func (e experiment) stood(t *testing.T, config model.Config, l load) float64 {
	t.Helper()
	return longest(e.completions, l.runtime) - longest(l.predict(t, config, 0), l.runtime)
}

// longest returns the longest time between two completions, in seconds. It ignores those at the end of the runtime,
// when fio collects everything in flight at once.
func longest(completions []completion, runtime time.Duration) float64 {
	most := 0.0
	for i, one := range completions[1:] {
		if one.seconds < runtime.Seconds() {
			most = max(most, one.seconds-completions[i].seconds)
		}
	}
	return most
}

// inMemory returns a backing directory in memory, because a slow disk would distort the rates.
func inMemory(t *testing.T) string {
	t.Helper()
	directory, err := os.MkdirTemp("/dev/shm", "burstfs")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { must(t, os.RemoveAll(directory)) })
	return directory
}

// saturate runs a load and repeats it until the figures show the store, not the machine. On a busy machine, fio or the
// mount can be delayed so long that nothing is in flight, or that answers arrive in clusters, which distort a fitted
// line by more than a percent.
func saturate(t *testing.T, config model.Config, l load) experiment {
	t.Helper()
	// A delay of s seconds at the end of a fit over two seconds changes the slope by a share of 3*(s/2)^2: 1.7 % for 0.15
	// s.
	const attempts, most, still = 5, 0.004, 0.15
	for attempt := 1; ; attempt++ {
		backing := inMemory(t)
		prepare(t, backing, "file")
		e := experiment{store: burstfs.Mount(t, config, backing)}
		e.completions = l.run(t, e.store, "file")
		idle, stood := e.idle(l.runtime), e.stood(t, config, l)
		switch {
		case idle <= most && stood <= still:
			return e
		case attempt == attempts:
			soak.Inconclusive(t, "in each of %d attempts, the store had no requests for more than %g %% of the time, "+
				"or fio waited more than %g s too long for an answer", attempts, 100*most, still)
		}
		t.Logf("attempt %d: the store had no requests for %.1f %% of the time, and fio waited %.3f s too long for an answer; trying again", attempt, 100*idle, stood)
	}
}

// TestFioSeesTheParameters checks that real fio measures what the store's parameters say: the rates and the duration of
// the burst within 2 %. The store's record must match fio's counts to the byte.
func TestFioSeesTheParameters(t *testing.T) {
	soak.Only(t)
	operations := model.Bucket{
		Name: "operations", Counts: model.CountsOperations, BurstPerSecond: 1200, BaselinePerSecond: 300,
		Size: 2400, RefillPerSecond: model.Pointer(200),
	}
	facts := scenario(t, "facts")
	for _, test := range []struct {
		name   string
		config model.Config
		load   load
		want   drain
	}{
		{"1MiB", facts, load{"write", 1 << 20, 16, 8 * time.Second}, drain{60e6, 10e6, 4}},
		{"64KiB", facts, load{"read", 64 << 10, 128, 7 * time.Second}, drain{60e6, 10e6, 4}},
		{"4KiB", model.Config{Buckets: []model.Bucket{operations}}, load{"randwrite", 4 << 10, 128, 6 * time.Second}, drain{1200, 300, 2.4}},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := saturate(t, test.config, test.load)
			bucket := test.config.Buckets[0]
			c := sums(e.completions, bucket.Counts == model.CountsOperations)
			c.measure(test.want.seconds, test.load.runtime.Seconds()).hold(t, test.want, 0.02)

			time.Sleep(2100 * time.Millisecond)
			truth, counted := e.store.Truth(), 0
			for _, one := range e.completions {
				counted += one.bytes
			}
			var bytes, count int64
			deepest := 0
			for _, s := range truth {
				if t.Failed() {
					t.Logf("%+v", s)
				}
				deepest = max(deepest, s.InFlight)
				bytes += s.Bytes()
				count += s.Operations()
			}
			if bytes != int64(counted) || count != int64(len(e.completions)) {
				t.Errorf("the store counts %d bytes and %d operations, fio %d and %d", bytes, count, counted, len(e.completions))
			}
			if deepest < test.load.depth*9/10 || deepest > test.load.depth {
				t.Errorf("%d requests were in flight at once, fio has %d", deepest, test.load.depth)
			}
			// The store has no more requests, so it keeps all of the refill.
			last := truth[len(truth)-1]
			idle := float64(last.Index+1) - e.ended()
			if got, want := last.Credits[0], idle*bucket.Refill(); got < 0.98*want || got > 1.02*want {
				t.Errorf("%g credits %.2f s after the end, want %g from the refill", got, idle, want)
			}
		})
	}
}

// TestScenariosWithFio checks the rates of every scenario with real fio. It takes about ten minutes.
func TestScenariosWithFio(t *testing.T) {
	soak.Only(t)
	for _, test := range scenarioTests {
		t.Run(test.scenario+"/"+test.load.pattern, func(t *testing.T) {
			config := scenario(t, test.scenario)
			e := saturate(t, config, test.load)
			seen := sums(e.completions, test.operations)
			check(t, seen, config, test.drains, test.level, test.load.runtime, 0.02)

			// The sum must match the model at any second, if the model starts at fio's first request.
			from := e.began(t)
			want := sums(test.load.predict(t, config, from), test.operations)
			got, worst := 0.0, 0.0
			for _, s := range e.store.Truth() {
				if test.operations {
					got += float64(s.Operations())
				} else {
					got += float64(s.Bytes())
				}
				second := float64(s.Index + 1)
				if second < from.Seconds()+5 || second > (from+test.load.runtime).Seconds()-1 {
					continue
				}
				worst = max(worst, math.Abs(got/want.at(second)-1))
			}
			t.Logf("worst difference of the sum from the model at any second: %.2f %%", 100*worst)
			if worst > 0.02 {
				t.Error("the sum differs from the model by more than 2 %")
			}
		})
	}
}

// began returns the time of fio's first request, on the store's clock. The store was busy for the rest of that second.
func (e experiment) began(t *testing.T) time.Duration {
	t.Helper()
	for _, s := range e.store.Truth() {
		if s.Busy > 0 {
			return time.Duration((float64(s.Index+1) - s.Busy) * 1e9)
		}
	}
	t.Fatal("the store was never busy")
	return 0
}

// at returns the sum at a time, interpolated linearly between two points.
func (c curve) at(seconds float64) float64 {
	for i, p := range c {
		if p.seconds >= seconds {
			if i == 0 || p.seconds == seconds {
				return p.sum
			}
			before := c[i-1]
			return before.sum + (p.sum-before.sum)*(seconds-before.seconds)/(p.seconds-before.seconds)
		}
	}
	return c[len(c)-1].sum
}

// TestFloorWithFio checks that at a queue depth of one, the store's latency limits the rate and the mount adds little
// to it.
func TestFloorWithFio(t *testing.T) {
	soak.Only(t)
	f := burstfs.Mount(t, scenario(t, "azure-p30"), "")
	completions := load{"randwrite", 4 << 10, 1, 3 * time.Second}.run(t, f, "file")
	got := sums(completions, true).fit(0.5, 3).rate
	t.Logf("%.1f operations a second, a floor of 4 ms allows 250", got)
	if got > 251 || got < 100 {
		t.Errorf("%.1f operations a second, want a little less than 250, on a busy machine at least 100", got)
	}
}

// run runs real fio on a store and returns all completions in order.
func (l load) run(t *testing.T, f *burstfs.Mounted, file string) []completion {
	t.Helper()
	fio, err := exec.LookPath("fio")
	if err != nil {
		t.Fatalf("this test needs fio: %v", err)
	}
	logs := filepath.Join(t.TempDir(), "log")
	command := exec.CommandContext(t.Context(), fio, "--name=job", "--filename="+filepath.Join(f.Path(), file),
		"--rw="+l.pattern, "--bs="+strconv.Itoa(l.block), "--iodepth="+strconv.Itoa(l.depth),
		"--runtime="+strconv.Itoa(int(l.runtime.Seconds())), "--time_based", "--size="+strconv.Itoa(fileBytes),
		"--ioengine=libaio", "--direct=1", "--fallocate=none", "--eta=never", "--randrepeat=1",
		"--per_job_logs=0", "--write_bw_log="+logs)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("fio: %v\n%s", err, output)
	}
	return parse(t, logs+"_bw.log")
}

func parse(t *testing.T, name string) []completion {
	t.Helper()
	log, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	var all []completion
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		fields := strings.Split(lines.Text(), ", ") // time in ms, rate, direction, bytes, offset, priority
		milliseconds, err1 := strconv.Atoi(fields[0])
		bytes, err2 := strconv.Atoi(fields[3])
		if err1 != nil || err2 != nil {
			t.Fatalf("fio's log has the line %q", lines.Text())
		}
		all = append(all, completion{float64(milliseconds) / 1000, bytes})
	}
	if len(all) == 0 {
		t.Fatalf("fio's log %s is empty: %v", name, lines.Err())
	}
	return all
}

// prepare writes a file to the backing directory, bypassing the mount, so that it costs no credits.
func prepare(t *testing.T, backing, name string) {
	t.Helper()
	f, err := os.Create(filepath.Join(backing, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 1<<20)
	for i := range fileBytes / len(block) {
		copy(block, fmt.Sprint(i))
		if _, err := f.Write(block); err != nil {
			t.Fatal(err)
		}
	}
}
