package burstfs_test

import (
	"math"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/storagebench/storagebench/test/burstfs"
	"github.com/storagebench/storagebench/test/burstfs/model"
)

// load is an fio job on one file.
type load struct {
	pattern string // value of fio's rw
	block   int
	depth   int
	runtime time.Duration
}

const fileBytes = 256 << 20

// completion is an I/O that fio reported as completed.
type completion struct {
	seconds float64 // since fio's start
	bytes   int
}

// curve is the cumulative number of bytes or operations over time.
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

// straight is the line sum = at0 + rate*seconds.
type straight struct{ at0, rate float64 }

// fit returns the least-squares line through a part of the curve.
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

// drain contains the burst, the baseline and the duration of the burst, as measured or as documented.
type drain struct{ burst, baseline, seconds float64 }

// measure fits one line to the burst of a drain and one to its baseline. expected is the expected duration of the
// burst, which lasts from the zero of the first line to the intersection of the two. This makes the result independent
// of when fio started and of what is in flight. Completions after the runtime are ignored, because fio collects
// everything that is then in flight at once.
func (c curve) measure(expected, runtime float64) drain {
	burst := c.fit(0.2*expected, 0.9*expected)
	baseline := c.fit(1.15*expected+0.3, runtime)
	start := -burst.at0 / burst.rate
	end := (baseline.at0 - burst.at0) / (burst.rate - baseline.rate)
	return drain{burst: burst.rate, baseline: baseline.rate, seconds: end - start}
}

// hold fails the test if a figure of a measured drain differs from the wanted one by more than the relative error.
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

func scenario(t *testing.T, name string) model.Config {
	t.Helper()
	config, err := burstfs.Scenario(name)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// TestFioIsCounted checks that the store's record matches what fio wrote to the byte, in its seconds and in their bins.
func TestFioIsCounted(t *testing.T) {
	f := burstfs.Mount(t, scenario(t, "facts"), "")
	const block, blocks, depth = 64 << 10, 256, 16
	command := exec.CommandContext(t.Context(), "fio", "--name=job", "--filename="+filepath.Join(f.Path(), "file"), "--rw=randwrite",
		"--bs=64k", "--size=16m", "--iodepth=16", "--ioengine=libaio", "--direct=1", "--fallocate=none", "--eta=never")
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("fio: %v\n%s", err, output)
	}
	time.Sleep(1100 * time.Millisecond) // the record contains only complete seconds
	var bytes, operations, binned int64
	deepest := 0
	for _, s := range f.Truth() {
		bytes, operations, deepest = bytes+s.WriteBytes, operations+s.WriteOperations, max(deepest, s.MostInFlight)
		for _, bin := range s.Bins {
			binned += bin.WriteBytes
		}
	}
	if bytes != block*blocks || operations != blocks || binned != bytes || deepest > depth || deepest == 0 {
		t.Errorf("the store counts %d bytes, %d of them in bins, in %d operations, %d at a time; fio wrote %d blocks of %d, %d at a time",
			bytes, binned, operations, deepest, blocks, block, depth)
	}
}
