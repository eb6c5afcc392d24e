package convert_test

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/storagebench/storagebench/internal/convert"
	"github.com/storagebench/storagebench/internal/engine/fio"
)

// drawn is a random command line with the effect that fio must have. The effect follows DiskSpd's documentation, not
// the parser under test.
type drawn struct {
	line []string
	want effect
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func draw(r *rand.Rand) drawn {
	d := drawn{want: effect{Options: map[string]string{}}}
	add := func(format string, arguments ...any) { d.line = append(d.line, fmt.Sprintf(format, arguments...)) }
	block := pick[uint64](r, 512, 4<<10, 8<<10, 64<<10, 1<<20)
	add("%s%s", "-b", pick(r, strconv.FormatUint(block, 10), sizeOf(block)))
	blocks := uint64(1024 * (1 + r.IntN(512)))
	add("-c%s", pick(r, strconv.FormatUint(block*blocks, 10), fmt.Sprintf("%db", blocks)))
	targets, threads, depth := uint64(1+r.IntN(3)), uint64(1), uint64(2)
	total := false
	switch r.IntN(3) {
	case 0:
		threads = uint64(1 + r.IntN(8))
		add("-t%d", threads)
	case 1:
		total, threads = true, uint64(1+r.IntN(8))
		add("-F%d", threads)
	}
	if r.IntN(4) > 0 {
		depth = uint64(1 + r.IntN(16))
		add("-o%d", depth)
	}
	random, direct, through, writes := r.IntN(2) == 0, true, false, 0
	d.want.Direct = "1"
	switch caching := pick(r, "", "-S", "-Su", "-Sh", "-Suw", "-Swu", "-Sb", "-Sbw", "-Sr", "-Sw", "-h"); caching {
	case "", "-Sb":
		direct = false
		d.line = append(d.line, nonEmpty(caching)...)
	case "-Sbw", "-Sw":
		direct, through = false, true
		add("%s", caching)
	case "-Sh", "-h", "-Suw", "-Swu":
		through = true
		add("%s", caching)
	default:
		add("%s", caching)
	}
	if r.IntN(3) > 0 {
		writes = pick(r, 0, 1, 30, 50, 99, 100)
		add("-w%d", writes)
	}
	if random {
		d.want.Options["norandommap"] = "1"
		add("%s", pick(r, "-r", "-r1b", "-rs100"))
	} else if r.IntN(2) == 0 {
		add("%s", pick(r, "-s", "-s1b"))
	}
	rate := uint64(0)
	limits := threads * targets
	switch r.IntN(3) {
	case 0:
		rate = uint64(100 + r.IntN(100_000))
		add("-g%d", rate)
		d.want.RateBytes = rate * 1000 * limits
	case 1:
		rate = uint64(20_000 + r.IntN(1000))
		add("-g%di", rate)
		d.want.RateIOPS = rate * limits
	}
	r.Shuffle(len(d.line), func(i, j int) { d.line[i], d.line[j] = d.line[j], d.line[i] })
	for i := range targets {
		add("file%d.dat", i)
	}
	w := &d.want
	w.Jobs, w.Outstanding = threads*targets, threads*targets*depth
	if total {
		w.Jobs = threads // each thread works on all targets
	}
	w.Files, w.DatasetBytes = int(targets), targets*block*blocks
	w.Block, w.Engine = strconv.FormatUint(block, 10), "libaio"
	if !direct {
		w.Direct = "0"
		if random && w.Outstanding > w.Jobs {
			w.Jobs, w.Engine = w.Outstanding, "psync"
		}
	}
	w.RW = map[bool]string{false: "", true: "rand"}[random]
	switch writes {
	case 0:
		w.RW += "read"
	case 100:
		w.RW += "write"
	default:
		w.RW += "rw"
		w.Mix = strconv.Itoa(100 - writes)
	}
	if through && writes > 0 {
		w.Sync = "dsync"
	}
	return d
}

func nonEmpty(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

func sizeOf(bytes uint64) string {
	switch {
	case bytes%(1<<20) == 0:
		return fmt.Sprintf("%dM", bytes>>20)
	case bytes%(1<<10) == 0:
		return fmt.Sprintf("%dk", bytes>>10)
	}
	return strconv.FormatUint(bytes, 10)
}

// TestDiskSpdMeaning checks that fio does what DiskSpd would: it converts random command lines and compares the
// rendered jobs with the expected effect.
func TestDiskSpdMeaning(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	tooMany := 0
	for range 1000 {
		d := draw(r)
		workloads, err := convert.DiskSpd(d.line, convert.Options{})
		if err != nil {
			t.Fatalf("%s: %v", strings.Join(d.line, " "), err)
		}
		got := effectOf(t, rendered(t, workloads[0].Spec.Fio), "norandommap", "percentage_random", "ba")
		if got.Engine == "psync" {
			tooMany++
		}
		// Sequential jobs get equal parts of whole blocks; the remainder of the file is not used.
		if d.want.RW == "read" || d.want.RW == "write" || d.want.RW == "rw" {
			if left := d.want.DatasetBytes - got.DatasetBytes; left < d.want.Jobs*uint64(d.want.Files)<<20 {
				got.DatasetBytes += left
			}
		}
		if diff := cmp.Diff(d.want, got); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", strings.Join(d.line, " "), diff)
		}
	}
	if tooMany == 0 {
		t.Error("no line was cached and random: the draw does not cover it")
	}
}

// TestFioTakesWhatIsRendered checks that real fio accepts the jobs that rare options are converted to.
func TestFioTakesWhatIsRendered(t *testing.T) {
	path, err := exec.LookPath("fio")
	if err != nil {
		t.Skip("no fio here")
	}
	for _, line := range []string{
		"-c1G -b4K -rs30 -r64K -w50 -Suw -Zr a", "-c1G -b4K -r100 -Sb -o1 a", "-c1G -b4K -r -rdpct90/10:0/10:5/20 -Su a", "-c1G -b4K -s64K -Su a",
		"-c1G -r -w100 -Smw -Nv a", "-c1G -r -w100 -I2 -a0,1 -frs -i10 -j5 a", "-c1G -w100 -Z -Su -I1 -t3 -T100M a b", "-c1G -w100 -g5i -F3 -fs -Sw a b",
	} {
		workloads, err := convert.DiskSpd(strings.Fields(line), convert.Options{})
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		text, err := fio.Render(workloads[0].Spec.Fio, fio.Parameters{Purpose: fio.Measure, Duration: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		command := exec.CommandContext(t.Context(), path, "--parse-only", "-")
		command.Stdin, command.Dir = strings.NewReader(text), t.TempDir()
		if output, err := command.CombinedOutput(); err != nil {
			t.Errorf("%s: fio: %v\n%s\n%s", line, err, output, text)
		}
	}
}
