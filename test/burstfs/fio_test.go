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
)

// load is a fio job of one file.
type load struct {
	pattern string // of fio's rw
	block   int
	depth   int
	runtime time.Duration
}

const fileBytes = 256 << 20

// completion is an I/O that fio saw answered.
type completion struct {
	seconds float64 // since fio's start
	bytes   int
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

// curve is the sum of what is through over time, in bytes or operations.
type curve []struct{ seconds, sum float64 }

func sums(completions []completion, operations bool) curve {
	var c curve
	sum := 0.0
	for _, one := range completions {
		if operations {
			sum++
		} else {
			sum += float64(one.bytes)
		}
		c = append(c, struct{ seconds, sum float64 }{one.seconds, sum})
	}
	return c
}

// straight is sum = at0 + rate*seconds.
type straight struct{ at0, rate float64 }

// fit is the straight line of least squares through a part of the curve.
func (c curve) fit(from, to float64) straight {
	var n, x, y, xx, xy float64
	for _, p := range c {
		if p.seconds >= from && p.seconds <= to {
			n++
			x += p.seconds
			y += p.sum
			xx += p.seconds * p.seconds
			xy += p.seconds * p.sum
		}
	}
	rate := (n*xy - x*y) / (n*xx - x*x)
	return straight{at0: (y - rate*x) / n, rate: rate}
}

// drain is what a drained bucket looks like from outside.
type drain struct{ burst, baseline, seconds float64 }

// measure fits the two straight lines of a drain that is expected to last so long. The burst begins where its
// line was zero and ends where the lines meet, whatever is in flight and whenever fio began.
// What fio sees after its runtime does not count: it reaps all that is in flight then as one.
func (c curve) measure(expected, runtime float64) drain {
	burst := c.fit(0.2*expected, 0.9*expected)
	baseline := c.fit(1.15*expected+0.3, runtime)
	start := -burst.at0 / burst.rate
	end := (baseline.at0 - burst.at0) / (burst.rate - baseline.rate)
	return drain{burst: burst.rate, baseline: baseline.rate, seconds: end - start}
}

// hold compares a measured drain with the parameters.
func (d drain) hold(t *testing.T, want drain, relative float64) {
	t.Helper()
	for _, figure := range []struct {
		name      string
		got, want float64
	}{
		{"burst", d.burst, want.burst}, {"baseline", d.baseline, want.baseline}, {"seconds of burst", d.seconds, want.seconds},
	} {
		off := figure.got/figure.want - 1
		t.Logf("%-16s %12.6g, the parameters say %12.6g: %+.2f %%", figure.name, figure.got, figure.want, 100*off)
		if !(math.Abs(off) <= relative) {
			t.Errorf("%s is off by more than %g %%", figure.name, 100*relative)
		}
	}
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
