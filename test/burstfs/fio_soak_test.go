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

// ended is when the store had nothing in flight any more, in seconds of its clock: it was busy from the begin of its last
// second of work to there.
func (e experiment) ended() float64 {
	end := 0.0
	for _, s := range e.store.Truth() {
		if s.Busy > 0 {
			end = float64(s.Index) + s.Busy
		}
	}
	return end
}

// idle is the share of the runtime in which nothing was asked of the store.
func (e experiment) idle(runtime time.Duration) float64 {
	idle, seconds := 0.0, int(runtime.Seconds())
	began := false
	for _, s := range e.store.Truth() {
		if !began { // of the second in which fio begins nothing is known
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

// stood is by how much longer than by the parameters fio has waited between two answers. While there are requests in flight
// that is the machine, or a part of it, standing still.
func (e experiment) stood(t *testing.T, config model.Config, l load) float64 {
	t.Helper()
	return longest(e.completions, l.runtime) - longest(l.predict(t, config, 0), l.runtime)
}

// longest time between two answers, in seconds. At the end of its runtime fio takes all that is in flight as one.
func longest(completions []completion, runtime time.Duration) float64 {
	most := 0.0
	for i, one := range completions[1:] {
		if one.seconds < runtime.Seconds() {
			most = max(most, one.seconds-completions[i].seconds)
		}
	}
	return most
}

// inMemory is a directory that no slow disk serves.
func inMemory(t *testing.T) string {
	t.Helper()
	directory, err := os.MkdirTemp("/dev/shm", "burstfs")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { must(t, os.RemoveAll(directory)) })
	return directory
}

// saturate runs a load that a store can be judged by: one that always has something in flight. On a machine that
// is busy otherwise fio or the mount may have to wait longer than what is in flight lasts, or for so long that answers come
// in heaps which bend the lines through them by a percent; then what fio sees is the machine and not the store, and it is done
// again.
func saturate(t *testing.T, config model.Config, l load) experiment {
	t.Helper()
	// Answers that a line of two seconds misses at its end for s seconds bend it by three times the square of s/2: by 1.7 %.
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
			soak.Inconclusive(t, "in %d attempts fio asked nothing of the store for more than %g %% of the time, "+
				"or had no answer for %g s", attempts, 100*most, still)
		}
		t.Logf("attempt %d: fio asked nothing of the store for %.1f %% of the time, and waited for an answer %.3f s too long; again", attempt, 100*idle, stood)
	}
}

// What real fio sees of a store is what its parameters say: the rates within 2 %, and so is the time that the
// credits last. What the store says of itself is what fio counted, to the byte.
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
			// Nothing is asked any more, so all of the refill stays.
			last := truth[len(truth)-1]
			idle := float64(last.Index+1) - e.ended()
			if got, want := last.Credits[0], idle*bucket.Refill(); got < 0.98*want || got > 1.02*want {
				t.Errorf("%g credits %.2f s after the end, the refill gives %g", got, idle, want)
			}
		})
	}
}

// The scenarios with real fio take about ten minutes.
func TestScenariosWithFio(t *testing.T) {
	soak.Only(t)
	for _, test := range scenarioTests {
		t.Run(test.scenario+"/"+test.load.pattern, func(t *testing.T) {
			config := scenario(t, test.scenario)
			e := saturate(t, config, test.load)
			seen := sums(e.completions, test.operations)
			check(t, seen, config, test.drains, test.level, test.load.runtime, 0.02)

			// The whole course matches the model, if the model starts when fio did.
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
				t.Error("the course is not that of the model")
			}
		})
	}
}

// began is when fio's first request came, by the store's clock: it kept the store busy for the rest of that
// second.
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

// at is the sum at a time, between two points on the straight line.
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

// At a queue depth of one the latency decides; what a mount adds to it is seen here.
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

// run lets real fio work on a store and gives every completion, in order.
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

// prepare makes a file behind a mount, which costs no credits.
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
