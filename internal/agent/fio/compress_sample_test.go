package fio

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine/fio"
)

// words returns text with a small vocabulary, in which noise percent of the lines are random bytes.
func words(random *rand.Rand, size, noise int) []byte {
	var b bytes.Buffer
	for b.Len() < size {
		if random.IntN(100) < noise {
			line := make([]byte, 60)
			for i := range line {
				line[i] = byte(random.Uint32())
			}
			b.Write(line)
			continue
		}
		_, _ = fmt.Fprintf(&b, "2026-11-21T12:%02d:%02d request %d of client-%d took %d us, answered with 200 OK\n", random.IntN(60), random.IntN(60),
			random.IntN(1e6), random.IntN(9), random.IntN(5000))
	}
	return b.Bytes()[:size]
}

// TestDataLikeTheUsers checks that the files that fio writes are as compressible as the user's own data.
func TestDataLikeTheUsers(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for name, data := range map[string][]byte{
		"text":         words(random, 3<<20, 0),
		"mixed":        words(random, 3<<20, 50),
		"random":       words(random, 3<<20, 100),
		"all the same": bytes.Repeat([]byte{'x'}, 3<<20),
	} {
		root := t.TempDir()
		for i := range 3 {
			if err := os.WriteFile(filepath.Join(root, fmt.Sprintf("%d.dat", i)), data[i<<20:(i+1)<<20], 0o600); err != nil {
				t.Fatal(err)
			}
		}
		sample, err := sampleOf(root, ".")
		if err != nil {
			t.Fatal(err)
		}
		block, direct := resource.MustParse("4Ki"), false
		profile := &v1alpha1.FioProfile{Pattern: v1alpha1.FioSequential, ReadPercent: new(int32), BlockSize: &block, DatasetSize: resource.MustParse("8Mi"),
			CompressLike: "own", Direct: &direct, RefillBuffers: new(bool)}
		job, err := fio.Render(profile, fio.Parameters{Purpose: fio.Prepare, Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		job = jobLike(job, sample)
		written := t.TempDir()
		command := exec.Command("fio", "-")
		command.Dir, command.Stdin = written, strings.NewReader(job)
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s\n%s", err, job, out)
		}
		made, err := sampleOf(written, ".")
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %.2f:1, fio is given %d %% and makes %.2f:1", name, float64(sample.RatioMilli)/1000, sample.Percent, float64(made.RatioMilli)/1000)
		if off := float64(made.RatioMilli)/float64(sample.RatioMilli) - 1; math.Abs(off) > 0.05 && sample.RatioMilli < 20_000 {
			t.Errorf("%s: the compression ratio of the user's files is %d, of fio's files %d, in thousandths", name, sample.RatioMilli, made.RatioMilli)
		}
	}
}
